// SPDX-License-Identifier: BSD-2-Clause
// The monitor's end of ports, with a guest that keeps the rules, and with one that does not.
#include "monitor/port/port_relay.hpp"

#include "devices/virtio_console/packet.hpp"
#include "host/program.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace previrt {
namespace {

using console_port::Event;
using console_port::Header;

class PortRelayTest : public testing::Test {
protected:
    struct Packet {
        Header header;
        std::string bytes;
    };

    PortRelayTest() {
        fcntl(output_.read.number(), F_SETFL, O_NONBLOCK);
        ends_.begin();
    }

    void put(std::uint32_t port, Event event, const std::string& bytes = {}) {
        const Header header{.port = port, .event = event};
        const auto length = static_cast<std::uint32_t>(sizeof header + bytes.size());
        const std::span<std::uint8_t> room = writer_.reserve(length);
        ASSERT_FALSE(room.empty());
        std::memcpy(room.data(), &header, sizeof header);
        std::memcpy(room.data() + sizeof header, bytes.data(), bytes.size());
        writer_.commit(length);
    }
    std::optional<Packet> take() {
        const auto packet = reader_.next();
        if (!packet) {
            return {};
        }
        Packet taken{};
        std::memcpy(&taken.header, packet->bytes.data(), sizeof taken.header);
        taken.bytes.assign(packet->bytes.begin() + sizeof taken.header, packet->bytes.end());
        reader_.release();
        return taken;
    }
    // As the monitor's thread does, until nothing is left to do.
    void serve() {
        std::vector<pollfd> polls;
        bool goes_on = true;
        while (goes_on) {
            goes_on = relay_.serve();
            polls.clear();
            relay_.watch(polls);
            goes_on = poll(polls.data(), polls.size(), 0) > 0 || goes_on;
            relay_.polled(polls);
        }
    }
    void type(const std::string& text) const {
        ASSERT_EQ(write(input_.write.number(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    // Waits for so many bytes.
    [[nodiscard]] std::string read_output(std::size_t bytes) const {
        std::string text;
        while (text.size() < bytes) {
            pollfd waiting{.fd = output_.read.number(), .events = POLLIN, .revents = 0};
            if (poll(&waiting, 1, 5000) != 1) {
                break;
            }
            std::string part(bytes - text.size(), '\0');
            const ssize_t got = read(output_.read.number(), part.data(), part.size());
            text += part.substr(0, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
            if (got == 0) {
                break;
            }
        }
        return text;
    }
    bool deliver_until(int turns) {
        for (; turns != 0; --turns) {
            if (relay_.deliver()) {
                return true;
            }
            std::vector<pollfd> polls;
            relay_.watch(polls);
            poll(polls.data(), polls.size(), 100);
            relay_.polled(polls);
        }
        return false;
    }

    Pipe input_ = make_pipe();
    Pipe output_ = make_pipe();
    std::unique_ptr<monitored::PacketRing> to_host_ = std::make_unique<monitored::PacketRing>();
    std::unique_ptr<monitored::PacketRing> to_guest_ = std::make_unique<monitored::PacketRing>();
    monitored::PacketWriter writer_{*to_host_};
    monitored::PacketReader reader_{*to_guest_};
    unsigned calls_ = 0;
    PortEnds ends_{{{.number = 1, .name = "in", .input = input_.read.number(), .output = -1},
                    {.number = 2, .name = "out", .input = -1, .output = output_.write.number()}}};
    PortRelay relay_{ends_, *to_host_, *to_guest_, [this] { ++calls_; }};
};

TEST_F(PortRelayTest, BytesOfTheGuestAreWritten) {
    put(2, Event::bytes, "hello ");
    put(2, Event::bytes, "world");
    serve();
    EXPECT_EQ(read_output(11), "hello world");
}

TEST_F(PortRelayTest, InputIsReadWhenTheGuestWantsSome) {
    type("hello");
    serve();
    EXPECT_FALSE(take());
    EXPECT_FALSE(reader_.wait() && take());
    put(1, Event::wants);
    serve();
    const std::optional<Packet> packet = take();
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->header.port, 1U);
    EXPECT_EQ(packet->header.event, Event::bytes);
    EXPECT_EQ(packet->bytes, "hello");
    EXPECT_EQ(calls_, 1U);
    type("more");
    serve();
    EXPECT_FALSE(take()); // once for each time
}

TEST_F(PortRelayTest, EndOfInputIsTold) {
    type(std::string(5000, 'x'));
    input_.write.close();
    std::string got;
    for (int i = 0; i < 2; ++i) {
        put(1, Event::wants);
        serve();
        const std::optional<Packet> packet = take();
        ASSERT_TRUE(packet);
        EXPECT_LE(packet->bytes.size(), 4096U);
        got += packet->bytes;
    }
    EXPECT_EQ(got.size(), 5000U);
    put(1, Event::wants);
    serve();
    const std::optional<Packet> end = take();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->header.event, Event::ended);
    EXPECT_EQ(end->bytes, "");
    put(1, Event::wants);
    serve();
    EXPECT_FALSE(take());
}

TEST_F(PortRelayTest, SlowReaderKeepsPacketsInTheRing) {
    const std::string block(32'768, 'x');
    std::size_t given = 0;
    for (int i = 0; i < 7; ++i) { // more than pump and pipe hold
        put(2, Event::bytes, block);
        given += block.size();
    }
    serve();
    EXPECT_NE(to_host_->counters.consumed, to_host_->counters.produced);
    EXPECT_TRUE(relay_.wait()); // it waits for the reader, not for packets
    put(2, Event::bytes, "end");
    EXPECT_FALSE(deliver_until(2));
    std::string got;
    std::thread reader([&] { got = read_output(given + 3); });
    EXPECT_TRUE(deliver_until(100));
    reader.join();
    EXPECT_EQ(got.size(), given + 3);
    EXPECT_EQ(got.substr(given), "end");
}

TEST_F(PortRelayTest, ReaderThatHasGoneKeepsNobodyWaiting) {
    output_.read.close();
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < 7; ++i) {
        put(2, Event::bytes, std::string(32'768, 'x'));
    }
    EXPECT_TRUE(deliver_until(100));
}

TEST_F(PortRelayTest, PacketsThatMeanNothingAreDropped) {
    type("hello");
    put(9, Event::bytes, "no such port");
    put(9, Event::wants);
    put(2, Event::wants); // it has no input
    put(1, Event::bytes, "nobody reads it");
    put(1, Event::ended);
    put(1, static_cast<Event>(99));
    writer_.reserve(4);
    writer_.commit(4); // shorter than a header
    put(2, Event::bytes, "good");
    serve();
    EXPECT_EQ(read_output(4), "good");
    EXPECT_FALSE(take());
}

// The guest writes anything into both rings.
TEST_F(PortRelayTest, HostileGuestEndsNoThread) {
    std::mt19937 random(1);
    auto* const words = reinterpret_cast<std::uint32_t*>(to_host_.get());
    auto* const others = reinterpret_cast<std::uint32_t*>(to_guest_.get());
    for (int i = 0; i < 20'000; ++i) {
        words[random() % 64] =
            static_cast<std::uint32_t>(random() % 5 == 0 ? random() : random() % 1000 * 16);
        others[random() % 64] = static_cast<std::uint32_t>(random() % 4096);
        relay_.serve();
        (void)relay_.wait();
        std::string ignored(65536, ' ');
        (void)!read(output_.read.number(), ignored.data(), ignored.size());
    }
}

} // namespace
} // namespace previrt
