// SPDX-License-Identifier: BSD-2-Clause
// Writing to who may not read.
#include "monitor/console/output_pump.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <unistd.h>

namespace previrt {

namespace {

using namespace std::chrono_literals;

std::string some_text(std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes; ++i) {
        text += static_cast<char>('a' + (i % 23));
    }
    return text;
}

std::string read_all(const Descriptor& pipe) {
    std::array<char, 4096> block{};
    std::string text;
    ssize_t got = 0;
    while ((got = read(pipe.number(), block.data(), block.size())) > 0) {
        text.append(block.data(), static_cast<std::size_t>(got));
    }
    return text;
}

// More than its own pipe and the reader's hold.
constexpr std::size_t much = 1 << 20U;

TEST(OutputPump, NobodyWaitsForAReaderWhoHasStopped) {
    const Pipe pipe = make_pipe();
    const auto begin = std::chrono::steady_clock::now();
    {
        OutputPump pump(pipe.write.number());
        pump.start();
        pump.write(some_text(much));
        EXPECT_TRUE(pump.is_full());
        pump.finish(100ms);
        EXPECT_FALSE(pump.is_over());
        EXPECT_GT(pump.lost_bytes(), much / 2);
        EXPECT_EQ(pump.error(), 0);
    } // and its end does not wait either
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST(OutputPump, AllArrivesOnceItIsRead) {
    Pipe pipe = make_pipe();
    std::optional<OutputPump> pump(std::in_place, pipe.write.number());
    pump->start();
    pipe.write.close();
    const std::string text = some_text(much);
    std::size_t given = 0;
    while (!pump->is_full()) {
        pump->write(std::string_view(text).substr(given, 1000));
        given += 1000;
    }
    std::string got;
    std::thread reader([&] { got = read_all(pipe.read); });
    pump->write(std::string_view(text).substr(given));
    pump->finish(60s);
    EXPECT_TRUE(pump->is_over());
    EXPECT_EQ(pump->lost_bytes(), 0U);
    pump.reset();
    reader.join();
    EXPECT_EQ(got, text);
}

TEST(OutputPump, ADescriptorThatMustNotBlockIsWaitedFor) {
    Pipe pipe = make_pipe();
    ASSERT_EQ(fcntl(pipe.write.number(), F_SETFL, O_NONBLOCK), 0);
    std::optional<OutputPump> pump(std::in_place, pipe.write.number());
    pump->start();
    pipe.write.close();
    pump->write(some_text(much));
    std::string got;
    std::thread reader([&] { got = read_all(pipe.read); });
    pump->finish(60s);
    EXPECT_EQ(pump->lost_bytes(), 0U);
    pump.reset();
    reader.join();
    EXPECT_EQ(got, some_text(much));
}

TEST(OutputPump, TellsWhatItCouldNotWrite) {
    const Descriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC));
    OutputPump pump(full.number());
    pump.start();
    pump.write("text");
    pump.finish(60s);
    EXPECT_TRUE(pump.is_over());
    EXPECT_EQ(pump.error(), ENOSPC);
    EXPECT_EQ(pump.lost_bytes(), 4U);
}

TEST(OutputPump, AReaderWhoHasGoneIsNoSignal) {
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    Pipe pipe = make_pipe();
    pipe.read.close();
    OutputPump pump(pipe.write.number());
    pump.start();
    pump.write(some_text(much));
    pump.finish(60s);
    EXPECT_EQ(pump.error(), EPIPE);
    std::signal(SIGPIPE, before);
}

} // namespace

} // namespace previrt
