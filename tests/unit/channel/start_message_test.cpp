// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/channel/start_message.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace previrt {
namespace {

struct Taken {
    agent::MessageHeader header{};
    agent::Start start{};
    std::vector<std::string> texts;
};

Taken take(const std::string& message) {
    Taken taken;
    std::memcpy(&taken.header, message.data(), sizeof taken.header);
    std::memcpy(&taken.start, message.data() + sizeof taken.header, sizeof taken.start);
    std::size_t at = sizeof taken.header + sizeof taken.start;
    while (at < message.size()) {
        taken.texts.emplace_back(message.c_str() + at);
        at += taken.texts.back().size() + 1;
    }
    return taken;
}

TEST(StartMessage, HasDirectoryArgumentsAndEnvironment) {
    RunOptions options;
    options.command = {"sh", "-c", "", "two words"};
    const Taken taken =
        take(make_start_message(options, 5, {.rows = 24, .columns = 80, .width = 0, .height = 0}));
    EXPECT_EQ(taken.header.message, agent::Message::start);
    EXPECT_EQ(taken.start.terminals, 5U);
    EXPECT_EQ(taken.start.window.columns, 80U);
    ASSERT_EQ(taken.start.arguments, 4U);
    ASSERT_EQ(taken.texts.size(), 1 + 4 + taken.start.variables);
    EXPECT_EQ(taken.texts[0], std::filesystem::current_path().string());
    EXPECT_EQ(taken.texts[3], "");
    EXPECT_EQ(taken.texts[4], "two words");
}

TEST(StartMessage, EnvironmentIsClean) {
    setenv("PREVIRT_SECRET", "1", 1); // NOLINT(concurrency-mt-unsafe): there is one thread
    setenv("LC_TIME", "C", 1);        // NOLINT(concurrency-mt-unsafe)
    RunOptions options;
    options.command = {"true"};
    options.environment = {"A=b=c", "HOME=/x", "PREVIRT_NOT_THERE"};
    Taken taken = take(make_start_message(options, 0, {}));
    const auto has = [&](const std::string& text) { return std::ranges::count(taken.texts, text); };
    EXPECT_EQ(has("PREVIRT_SECRET=1"), 0);
    EXPECT_EQ(has("LC_TIME=C"), 1);
    EXPECT_EQ(has("A=b=c"), 1);
    EXPECT_EQ(has("HOME=/x"), 1);
    EXPECT_EQ(has("HOME=/root"), 0);
    EXPECT_EQ(has("PREVIRT_NOT_THERE"), 0);
    options.environment = {"PREVIRT_SECRET"};
    taken = take(make_start_message(options, 0, {}));
    EXPECT_EQ(has("PREVIRT_SECRET=1"), 1);
}

TEST(StartMessage, HasABound) {
    RunOptions options;
    options.command = {"true", std::string(agent::most_start_bytes, 'x')};
    EXPECT_THROW(make_start_message(options, 0, {}), InputError);
}

} // namespace
} // namespace previrt
