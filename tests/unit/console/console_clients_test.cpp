// SPDX-License-Identifier: BSD-2-Clause
// Clients at a console: none keeps the guest waiting, whatever it does.
#include "monitor/console/console_clients.hpp"

#include "tests/unit/listener.hpp"

#include <array>
#include <gtest/gtest.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace previrt {

namespace {

constexpr std::size_t room_for_keys = 4096;

class ConsoleClientsTest : public testing::Test {
protected:
    ConsoleClientsTest() : listener_(make_listener()), clients_(listener_.number()) {}

    [[nodiscard]] Descriptor connect() const { return connect_to(listener_); }
    // Until nothing is left to do. Returns the keys.
    std::string serve(std::size_t most_keys = room_for_keys) {
        std::string keys;
        for (;;) {
            std::vector<pollfd> polls;
            clients_.add_wanted(polls, most_keys - keys.size());
            if (poll(polls.data(), polls.size(), 0) <= 0) {
                return keys;
            }
            keys += clients_.polled(polls, most_keys - keys.size());
        }
    }
    static std::string read(const Descriptor& client) {
        std::string text;
        std::array<char, 4096> block{};
        ssize_t got = 0;
        while ((got = ::read(client.number(), block.data(), block.size())) > 0) {
            text.append(block.data(), static_cast<std::size_t>(got));
        }
        return text;
    }
    static void type(const Descriptor& client, const std::string& text) {
        ASSERT_EQ(write(client.number(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }

    Descriptor listener_;
    ConsoleClients clients_;
};

TEST_F(ConsoleClientsTest, EachHasTheOutputAndMayType) {
    clients_.show("early ");
    const Descriptor first = connect();
    serve();
    clients_.show("late");
    const Descriptor second = connect();
    serve();
    EXPECT_EQ(read(first), "early late");
    EXPECT_EQ(read(second), "early late");
    EXPECT_FALSE(clients_.have_typed());
    type(first, "a");
    EXPECT_EQ(serve(), "a");
    type(second, "b");
    EXPECT_EQ(serve(), "b");
    EXPECT_TRUE(clients_.have_typed());
}

TEST_F(ConsoleClientsTest, EarlierOutputIsBounded) {
    clients_.show(std::string(100000, 'a'));
    clients_.show("the end");
    const Descriptor client = connect();
    serve();
    const std::string text = read(client);
    EXPECT_EQ(text.size(), 16384U);
    EXPECT_TRUE(text.ends_with("aathe end"));
}

TEST_F(ConsoleClientsTest, OneThatDoesNotReadLosesOutputAndLearnsHowMuch) {
    const Descriptor client = connect();
    serve();
    const std::string line(1000, 'x');
    constexpr std::size_t lines = 2000;
    for (std::size_t i = 0; i < lines; ++i) {
        clients_.show(line);
        serve();
    }
    std::string text;
    for (std::string more; !(more = read(client)).empty();) {
        text += more;
        serve();
    }
    const std::string begin = "\r\n[previrt: ";
    const std::size_t at = text.find(begin);
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(at + std::stoul(text.substr(at + begin.size())), lines * line.size());
    clients_.show("again");
    EXPECT_EQ(read(client), "again");
}

TEST_F(ConsoleClientsTest, KeysWaitUntilTheGuestTakesThem) {
    const Descriptor client = connect();
    serve();
    type(client, "abcdef");
    EXPECT_EQ(serve(0), "");
    EXPECT_EQ(serve(2), "ab");
    EXPECT_EQ(serve(), "cdef");
}

TEST_F(ConsoleClientsTest, OneThatHasClosedItsInputStillReads) {
    const Descriptor client = connect();
    serve();
    type(client, "last");
    shutdown(client.number(), SHUT_WR);
    EXPECT_EQ(serve(), "last");
    clients_.show("output");
    EXPECT_EQ(read(client), "output");
    EXPECT_TRUE(clients_.are_there());
}

TEST_F(ConsoleClientsTest, OneThatHasGoneIsForgotten) {
    Descriptor client = connect();
    serve();
    type(client, "last");
    client.close();
    EXPECT_EQ(serve(), "last");
    EXPECT_FALSE(clients_.are_there());
    client = connect();
    serve();
    client.close();
    clients_.show(std::string(1000000, 'x'));
    serve();
    EXPECT_FALSE(clients_.are_there());
}

TEST_F(ConsoleClientsTest, TheyAreBounded) {
    std::vector<Descriptor> some(ConsoleClients::most + 3);
    for (Descriptor& each : some) {
        each = connect();
    }
    serve();
    clients_.show("x");
    for (std::size_t i = 0; i < some.size(); ++i) {
        EXPECT_EQ(read(some[i]), i < ConsoleClients::most ? "x" : "") << i;
    }
    some.front().close();
    serve();
    EXPECT_EQ(read(some[ConsoleClients::most]), "x");
}

TEST(ConsoleClients, WithoutAListenerThereIsNone) {
    ConsoleClients clients(-1);
    clients.show("x");
    std::vector<pollfd> polls;
    clients.add_wanted(polls, 1);
    EXPECT_EQ(poll(polls.data(), polls.size(), 0), 0);
    EXPECT_EQ(clients.polled(polls, 1), "");
}

} // namespace

} // namespace previrt
