// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/switch/learning_switch.hpp"

#include "host/descriptor_limit.hpp"
#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"
#include "monitor/guest/guest_threads.hpp"
#include "monitor/network/packet_socket.hpp"
#include "monitor/network/switch/command.hpp"
#include "monitor/network/switch/end.hpp"
#include "monitor/network/switch/return.hpp"
#include "tests/unit/network/frames.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <optional>
#include <poll.h>
#include <random>
#include <sstream>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>

namespace previrt {

namespace {

constexpr MacAddress everybody = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

MacAddress host(std::uint8_t number) {
    return {0x52, 0x54, 0, 0, 0, number};
}

Bytes make_frame(const MacAddress& to, const MacAddress& from, std::uint8_t content, std::size_t bytes = 60) {
    Bytes frame(bytes, content);
    std::ranges::copy(from, std::ranges::copy(to, frame.begin()).out);
    return frame;
}

class Switch : public testing::Test {
protected:
    void start() {
        switch_.emplace(path_);
        thread_ = std::thread([this] { switch_->run(end_); });
    }
    const std::vector<SwitchCounts>& stop() {
        if (thread_.joinable()) {
            eventfd_write(end_.number(), 1);
            thread_.join();
        }
        return switch_->counts();
    }
    void TearDown() override {
        if (switch_) {
            stop();
        }
    }
    // The next thing that each of them gets is this broadcast: nothing was on its way to them.
    void expect_quiet(const Descriptor& sender, std::initializer_list<const Descriptor*> others) {
        const Bytes frame = make_frame(everybody, host(0xee), ++mark_);
        ASSERT_TRUE(send_frame(sender.number(), frame));
        for (const Descriptor* other : others) {
            EXPECT_EQ(take_frame(other->number()), frame);
        }
    }
    // One that is served: it has sent itself to nobody, and a broadcast has come from it.
    Descriptor join(const Descriptor* other = nullptr) {
        Descriptor end = connect_to_switch(path_);
        if (other != nullptr) {
            expect_quiet(end, {other});
        }
        return end;
    }

    TemporaryDirectory directory_;
    std::string path_ = directory_.path() + "/switch";
    Descriptor end_ = make_event();
    std::optional<LearningSwitch> switch_;
    std::thread thread_;
    std::uint8_t mark_ = 0;
};

TEST_F(Switch, LearnsWhoIsWhere) {
    start();
    const Descriptor one = join();
    const Descriptor two = join(&one);
    const Descriptor three = join(&one);
    EXPECT_EQ(take_frame(two.number()).size(), 60U); // three's, as it joined
    const Bytes unknown = make_frame(host(2), host(1), 1);
    ASSERT_TRUE(send_frame(one.number(), unknown));
    EXPECT_EQ(take_frame(two.number()), unknown);
    EXPECT_EQ(take_frame(three.number()), unknown);
    const Bytes answer = make_frame(host(1), host(2), 2);
    ASSERT_TRUE(send_frame(two.number(), answer));
    EXPECT_EQ(take_frame(one.number()), answer);
    expect_quiet(two, {&one, &three});
    const Bytes known = make_frame(host(2), host(1), 3);
    ASSERT_TRUE(send_frame(one.number(), known));
    EXPECT_EQ(take_frame(two.number()), known);
    ASSERT_TRUE(send_frame(one.number(), make_frame(host(1), host(1), 4))); // to itself: to nobody
    expect_quiet(one, {&two, &three});
}

TEST_F(Switch, GroupsGoToAll) {
    start();
    const Descriptor one = join();
    const Descriptor two = join(&one);
    const Descriptor three = join(&one);
    EXPECT_EQ(take_frame(two.number()).size(), 60U);
    const Bytes multicast = make_frame({0x33, 0x33, 0, 0, 0, 1}, host(1), 1);
    ASSERT_TRUE(send_frame(one.number(), multicast));
    EXPECT_EQ(take_frame(two.number()), multicast);
    EXPECT_EQ(take_frame(three.number()), multicast);
    expect_quiet(two, {&one, &three}); // not back to the sender
}

TEST_F(Switch, AMovedAddressIsFollowed) {
    start();
    const Descriptor one = join();
    const Descriptor two = join(&one);
    const Descriptor three = join(&one);
    EXPECT_EQ(take_frame(two.number()).size(), 60U);
    for (const auto& [now, other] :
         {std::pair(&two, &three), std::pair(&three, &two), std::pair(&two, &three)}) {
        const Bytes hello = make_frame(everybody, host(9), 7);
        ASSERT_TRUE(send_frame(now->number(), hello));
        EXPECT_EQ(take_frame(one.number()), hello);
        EXPECT_EQ(take_frame(other->number()), hello);
        const Bytes frame = make_frame(host(9), host(1), 8);
        ASSERT_TRUE(send_frame(one.number(), frame));
        EXPECT_EQ(take_frame(now->number()), frame);
        expect_quiet(one, {&two, &three});
    }
}

TEST_F(Switch, WhoHasLeftIsForgotten) {
    start();
    const Descriptor one = join();
    Descriptor two = join(&one);
    const Descriptor three = join(&one);
    EXPECT_EQ(take_frame(two.number()).size(), 60U);
    const Bytes hello = make_frame(everybody, host(2), 1);
    ASSERT_TRUE(send_frame(two.number(), hello));
    EXPECT_EQ(take_frame(one.number()), hello);
    EXPECT_EQ(take_frame(three.number()), hello);
    two.close();
    const Bytes frame = make_frame(host(2), host(1), 2);
    for (Bytes got; got != frame;) { // from when the switch has seen it leave
        ASSERT_TRUE(send_frame(one.number(), frame));
        pollfd waiting{.fd = three.number(), .events = POLLIN, .revents = 0};
        if (poll(&waiting, 1, 10) > 0) {
            got = take_frame(three.number());
        }
    }
}

TEST_F(Switch, AFullClientHoldsNobodyUp) {
    start();
    const Descriptor one = join();
    const Descriptor sleeper = join(&one);
    const Descriptor three = join(&one);
    for (std::uint32_t i = 0; i < 20000; ++i) {
        Bytes frame = make_numbered_frame(i, 1514);
        std::ranges::copy(everybody, frame.begin());
        frame[6] = 0x52;
        ASSERT_TRUE(send_frame(one.number(), frame));
        ASSERT_EQ(take_frame(three.number()), frame) << i;
    }
    const auto& counts = stop();
    ASSERT_EQ(counts.size(), 3U);
    EXPECT_GT(counts[1].lost, 10000U);
    EXPECT_EQ(counts[0].lost, 0U);
    EXPECT_EQ(counts[2].lost, 0U);
    EXPECT_EQ(counts[0].from, 20000U);
    EXPECT_EQ(counts[2].to, 20000U);
}

TEST_F(Switch, HostileClientsHarmNobody) {
    start();
    const Descriptor one = join();
    const Descriptor two = join(&one);
    const Bytes hello = make_frame(everybody, host(2), 1);
    ASSERT_TRUE(send_frame(two.number(), hello));
    EXPECT_EQ(take_frame(one.number()), hello);
    const Descriptor hostile = join(&one);
    EXPECT_EQ(take_frame(two.number()).size(), 60U);
    const auto send_waiting = [](const Descriptor& end, const Bytes& frame) {
        pollfd waiting{.fd = end.number(), .events = POLLOUT, .revents = 0};
        while (!send_frame(end.number(), frame)) {
            ASSERT_GT(poll(&waiting, 1, 20000), 0);
        }
    };
    for (std::size_t bytes = 1; bytes < 14; ++bytes) {
        send_waiting(hostile, Bytes(bytes, 0));
    }
    send_waiting(hostile, make_frame(everybody, host(3), 1, 16385));
    send_waiting(hostile, make_frame(everybody, {0x53, 0, 0, 0, 0, 1}, 1));
    std::mt19937 random(1);
    for (int i = 0; i < 20000; ++i) { // to itself, so that nobody need take them
        MacAddress invented{};
        std::ranges::generate(invented, [&] { return static_cast<std::uint8_t>(random()); });
        invented[0] &= 0xfeU;
        send_waiting(hostile, make_frame(invented, invented, 0));
    }
    for (int i = 0; i < 500; ++i) {
        const Descriptor passer_by = connect_to_switch(path_);
        send_frame(passer_by.number(), Bytes(3, 0));
    }
    const Descriptor empty = connect_to_switch(path_);
    EXPECT_EQ(send(empty.number(), "", 0, MSG_NOSIGNAL), 0);
    EXPECT_EQ(take_frame(empty.number()), Bytes()); // it is shown out
    // What was learned before all that still holds.
    const Bytes frame = make_frame(host(2), host(1), 3);
    ASSERT_TRUE(send_frame(one.number(), frame));
    EXPECT_EQ(take_frame(two.number()), frame);
    const Descriptor last = join(&one);
    EXPECT_EQ(take_frame(two.number()).size(), 60U);
    const auto& counts = stop();
    EXPECT_EQ(counts[2].no_frame, 15U);
    EXPECT_EQ(counts[2].from, 20001U);
}

TEST_F(Switch, MoreClientsThanItTakesWait) {
    raise_descriptor_limit(); // this process has both ends
    start();
    std::vector<Descriptor> clients;
    clients.push_back(join());
    for (std::size_t i = 1; i < LearningSwitch::most_clients; ++i) {
        clients.push_back(join(&clients.front()));
    }
    const Descriptor waits = connect_to_switch(path_);
    const Bytes frame = make_frame(everybody, host(7), 1);
    ASSERT_TRUE(send_frame(waits.number(), frame));
    pollfd waiting{.fd = clients.front().number(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&waiting, 1, 100), 0);
    clients.pop_back();
    EXPECT_EQ(take_frame(clients.front().number()), frame);
    EXPECT_EQ(stop().size(), LearningSwitch::most_clients);
}

TEST_F(Switch, OnlyADeadOnesPlaceIsTaken) {
    start();
    EXPECT_THROW(const LearningSwitch another(path_), InputError);
    const Descriptor still_there = join();
    stop();
    switch_.reset();
    EXPECT_FALSE(std::filesystem::exists(path_));
    {
        const Descriptor dead = make_packet_socket();
        const sockaddr_un address = make_socket_address(path_);
        ASSERT_EQ(bind(dead.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    }
    EXPECT_TRUE(std::filesystem::exists(path_));
    EXPECT_THROW(connect_to_switch(path_), InputError);
    const LearningSwitch takes_over(path_);
    EXPECT_NO_THROW(connect_to_switch(path_));
}

TEST_F(Switch, AFileStays) {
    std::ofstream(path_) << "a text";
    EXPECT_THROW(const LearningSwitch refused(path_), InputError);
    EXPECT_EQ(std::filesystem::file_size(path_), 6U);
    EXPECT_THROW(const LearningSwitch refused(std::string(108, 'a')), InputError);
    EXPECT_THROW(const LearningSwitch refused(directory_.path() + "/none/switch"), InputError);
}

TEST_F(Switch, WhatAnotherHasMadeThereStays) {
    switch_.emplace(path_);
    std::filesystem::remove(path_);
    const LearningSwitch another(path_);
    switch_.reset();
    EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(Switch, WithoutOneTheRemedyIsSaid) {
    try {
        connect_to_switch(path_);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_EQ(error.what(), "--net switch=" + path_ +
                                    ": no switch listens there: start `previrt switch " + path_ + "` first");
    }
}

TEST_F(Switch, AnotherAtItsPlaceIsFound) {
    start();
    const Descriptor end = join();
    const PacketEvents events{.sent = make_event(),
                              .ended = make_event(),
                              .cable = make_event(),
                              .lost = make_event(),
                              .restored = make_event()};
    const auto lose_switch = [&] {
        stop();
        switch_.reset();
        eventfd_write(events.lost.number(), 1);
    };
    std::optional<SwitchReturn> switch_return;
    switch_return.emplace(path_, end.number(), events);
    for (std::uint8_t times = 1; times <= 2; ++times) {
        lose_switch();
        pollfd restored{.fd = events.restored.number(), .events = POLLIN, .revents = 0};
        EXPECT_EQ(poll(&restored, 1, 300), 0); // there is none yet
        eventfd_t count = 0;
        eventfd_read(end_.number(), &count);
        start();
        ASSERT_EQ(poll(&restored, 1, 20000), 1);
        eventfd_read(events.restored.number(), &count);
        const Descriptor other = join(&end);
        const Bytes frame = make_frame(everybody, host(1), times);
        ASSERT_TRUE(send_frame(end.number(), frame));
        EXPECT_EQ(take_frame(other.number()), frame);
    }
    lose_switch();
    eventfd_write(events.ended.number(), 1);
    switch_return.reset(); // it waits for none that never comes
}

// As a user starts it: confined, and with words at its end.
TEST_F(Switch, CommandSaysWhatWentThrough) {
    const std::ostringstream output;
    std::streambuf* const standard = std::cout.rdbuf(output.rdbuf());
    std::thread command([this] { run_switch(path_, end_); });
    while (!std::filesystem::exists(path_)) {
        std::this_thread::yield();
    }
    std::optional<Descriptor> one;
    while (!one) {
        try {
            one = connect_to_switch(path_);
        } catch (const InputError&) {
            std::this_thread::yield(); // it does not listen yet
        }
    }
    const Descriptor two = join(&*one);
    const Bytes frame = make_frame(host(0xee), host(1), 3);
    EXPECT_TRUE(send_frame(one->number(), frame));
    EXPECT_EQ(take_frame(two.number()), frame);
    eventfd_write(end_.number(), 1);
    command.join();
    std::cout.rdbuf(standard);
    EXPECT_FALSE(std::filesystem::exists(path_));
    EXPECT_NE(
        output.str().find("port 0: 1 client, 1 frames from it, 1 to it, 0 lost as it took none, 0 refused\n"),
        std::string::npos)
        << output.str();
}

TEST(AddressTable, APortForgetsItsOwn) {
    AddressTable table(3);
    table.learn(host(1), 1);
    MacAddress invented = {2, 0, 0, 0, 0, 1};
    for (int i = 0; i < 100000; ++i) {
        invented[3] = static_cast<std::uint8_t>(i >> 16);
        invented[4] = static_cast<std::uint8_t>(i >> 8);
        invented[5] = static_cast<std::uint8_t>(i);
        table.learn(invented, 2);
    }
    EXPECT_EQ(table.size(), 1 + AddressTable::most_of_a_port);
    EXPECT_EQ(table.find(host(1)), 1U);
    EXPECT_EQ(table.find(invented), 2U);
    for (std::size_t i = 0; i < 1000; ++i) { // taken from each other
        table.learn(host(1), i % 2);
    }
    EXPECT_EQ(table.size(), 1 + AddressTable::most_of_a_port);
    table.forget_port(2);
    EXPECT_EQ(table.find(invented), std::nullopt);
    EXPECT_EQ(table.size(), 1U);
    EXPECT_EQ(table.find(host(1)), 1U);
}

} // namespace

} // namespace previrt
