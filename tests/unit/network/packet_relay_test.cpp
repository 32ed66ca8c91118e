// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/packet_relay.hpp"

#include "monitor/guest/confinement.hpp"
#include "monitor/guest/guest_threads.hpp"
#include "monitor/network/cable_signals.hpp"
#include "monitor/network/packet_socket.hpp"
#include "tests/unit/network/frames.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <random>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <thread>

namespace previrt {

namespace {

using namespace monitored;
using namespace std::chrono_literals;

bool await(const Descriptor& event, int milliseconds) {
    pollfd waiting{.fd = event.number(), .events = POLLIN, .revents = 0};
    eventfd_t count = 0;
    return poll(&waiting, 1, milliseconds) > 0 && eventfd_read(event.number(), &count) == 0;
}

std::size_t size_of(std::uint32_t number) {
    return 14 + (number * 7919 % 9200);
}

// The guest is the test: it has the other ends of the rings. So is whoever is at the other end of the link.
class Relay : public testing::Test {
protected:
    static constexpr int patience = 20000;

    void SetUp() override {
        for (const Descriptor* end : {&pair_.ours, &pair_.theirs}) {
            widen_send_buffer(*end);
            fcntl(end->number(), F_SETFL, O_NONBLOCK);
        }
    }
    void start() {
        thread_ = std::thread([this] {
            confine_relay_thread();
            relay_.run();
        });
    }
    const PacketCounts& stop() {
        if (thread_.joinable()) {
            eventfd_write(events_.ended.number(), 1);
            thread_.join();
        }
        return relay_.counts();
    }
    void TearDown() override { stop(); }

    // False: there was no room for so long.
    bool guest_sends(const Bytes& frame, int milliseconds = patience) {
        const auto bytes = static_cast<std::uint32_t>(frame.size());
        std::span<std::uint8_t> place = writer_.reserve(bytes);
        while (place.empty()) {
            if (writer_.wait(bytes) && !await(called_, milliseconds)) {
                return false;
            }
            place = writer_.reserve(bytes);
        }
        std::ranges::copy(frame, place.begin());
        writer_.commit(bytes);
        if (writer_.must_call()) {
            ring();
        }
        return true;
    }
    Bytes guest_takes(int milliseconds = patience) {
        auto frame = reader_.next();
        while (!frame) {
            if (reader_.wait() && !await(called_, milliseconds)) {
                return {};
            }
            frame = reader_.next();
        }
        Bytes bytes(frame->bytes.begin(), frame->bytes.end());
        reader_.release();
        if (reader_.must_call()) {
            ring();
        }
        return bytes;
    }
    void ring() const { eventfd_write(events_.sent.number(), 1); }
    double seconds_of_relay() {
        clockid_t clock = 0;
        timespec now{};
        pthread_getcpuclockid(thread_.native_handle(), &clock);
        clock_gettime(clock, &now);
        return static_cast<double>(now.tv_sec) + (1e-9 * static_cast<double>(now.tv_nsec));
    }
    // All that either side has sent was taken.
    [[nodiscard]] bool await_drained() const {
        for (int waited = 0; waited < patience; ++waited) {
            int unread = 0;
            ioctl(other(), TIOCOUTQ, &unread);
            if (unread == 0 &&
                __atomic_load_n(&sent_->counters.consumed, __ATOMIC_ACQUIRE) == sent_->counters.produced) {
                return true;
            }
            std::this_thread::sleep_for(1ms);
        }
        return false;
    }
    [[nodiscard]] int other() const { return pair_.theirs.number(); }

    std::unique_ptr<PacketRing> sent_ = std::make_unique<PacketRing>();
    std::unique_ptr<PacketRing> received_ = std::make_unique<PacketRing>();
    PacketWriter writer_{*sent_};
    PacketReader reader_{*received_};
    PacketEvents events_{.sent = make_event(),
                         .ended = make_event(),
                         .cable = hold_cable_signals(),
                         .lost = make_event(),
                         .restored = make_event()};
    Descriptor called_ = make_event();
    Descriptor up_ = make_event();
    Descriptor down_ = make_event();
    PacketPair pair_ = make_packet_pair();
    PacketRelay relay_{events_,
                       {.number = pair_.ours.number(), .has_headers = false},
                       *sent_,
                       *received_,
                       [this] { eventfd_write(called_.number(), 1); },
                       [this](bool up) { eventfd_write((up ? up_ : down_).number(), 1); }};
    std::thread thread_;
};

TEST_F(Relay, WhatIsSentArrives) {
    start();
    constexpr std::uint32_t frames = 5000;
    std::thread other_side([&] {
        for (std::uint32_t i = 0; i < frames; ++i) {
            ASSERT_EQ(take_frame(other()), make_numbered_frame(i, size_of(i))) << i;
        }
    });
    for (std::uint32_t i = 0; i < frames; ++i) {
        ASSERT_TRUE(guest_sends(make_numbered_frame(i, size_of(i))));
    }
    other_side.join();
    const PacketCounts& counts = stop();
    EXPECT_EQ(counts.sent, frames);
    EXPECT_EQ(counts.sent_dropped, 0U);
    EXPECT_EQ(counts.received, 0U);
    EXPECT_EQ(counts.ends_lost, 0U);
}

TEST_F(Relay, WhatComesIsReceived) {
    start();
    constexpr std::uint32_t frames = 5000;
    std::thread other_side([&] {
        pollfd waiting{.fd = other(), .events = POLLOUT, .revents = 0};
        for (std::uint32_t i = 0; i < frames; ++i) {
            while (!send_frame(other(), make_numbered_frame(i, size_of(i)))) {
                ASSERT_GT(poll(&waiting, 1, patience), 0);
            }
        }
    });
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < frames; ++i) {
        ASSERT_EQ(guest_takes(), make_numbered_frame(i, size_of(i))) << i;
        bytes += size_of(i);
    }
    other_side.join();
    EXPECT_EQ(stop().received, frames);
    EXPECT_EQ(relay_.counts().received_bytes, bytes);
}

// Each side sends all the time and reads when it can: whoever would wait for one direction would stop both.
TEST_F(Relay, BothDirectionsAtOnce) {
    start();
    constexpr std::uint32_t frames = 5000;
    std::thread other_side([&] { // sends back what comes
        pollfd waiting{.fd = other(), .events = POLLOUT, .revents = 0};
        for (std::uint32_t i = 0; i < frames; ++i) {
            const Bytes frame = take_frame(other());
            while (!send_frame(other(), frame)) {
                ASSERT_GT(poll(&waiting, 1, patience), 0);
            }
        }
    });
    std::uint32_t sent = 0;
    for (std::uint32_t i = 0; i < frames; ++i) {
        while (sent < frames && sent - i < 500 && guest_sends(make_numbered_frame(sent, size_of(sent)), 0)) {
            ++sent;
        }
        if (sent == i) { // what was waited for above may have been for the other direction
            ASSERT_TRUE(guest_sends(make_numbered_frame(sent, size_of(sent))));
            ++sent;
        }
        ASSERT_EQ(guest_takes(), make_numbered_frame(i, size_of(i))) << i;
    }
    other_side.join();
}

TEST_F(Relay, AnEndWithoutRoomFillsTheGuestsRing) {
    start();
    std::uint32_t sent = 0;
    while (guest_sends(make_numbered_frame(sent, 1514), 300)) {
        ++sent;
    }
    EXPECT_GT(sent, sizeof(PacketRing::bytes) / 1600);
    const double before = seconds_of_relay();
    std::this_thread::sleep_for(200ms);
    EXPECT_LT(seconds_of_relay() - before, 0.1); // it sleeps
    for (std::uint32_t i = 0; i < sent; ++i) {
        ASSERT_EQ(take_frame(other()), make_numbered_frame(i, 1514)) << i;
    }
    EXPECT_TRUE(guest_sends(make_numbered_frame(0, 1514)));
    EXPECT_EQ(take_frame(other()), make_numbered_frame(0, 1514));
    EXPECT_EQ(stop().sent_dropped, 0U);
}

TEST_F(Relay, AGuestWithoutRoomFillsTheEnd) {
    start();
    std::uint32_t sent = 0;
    pollfd waiting{.fd = other(), .events = POLLOUT, .revents = 0};
    do {
        while (send_frame(other(), make_numbered_frame(sent, 1514))) {
            ++sent;
        }
    } while (poll(&waiting, 1, 300) > 0);
    EXPECT_GT(sent, sizeof(PacketRing::bytes) / 1600);
    const double before = seconds_of_relay();
    std::this_thread::sleep_for(200ms);
    EXPECT_LT(seconds_of_relay() - before, 0.1);
    for (std::uint32_t i = 0; i < sent; ++i) {
        ASSERT_EQ(guest_takes(), make_numbered_frame(i, 1514)) << i;
    }
    EXPECT_EQ(stop().received, sent);
}

TEST_F(Relay, TheGuestIsCalledOnceABatch) {
    for (std::uint32_t i = 0; i < 60; ++i) {
        ASSERT_TRUE(send_frame(other(), make_numbered_frame(i, 60)));
    }
    ASSERT_TRUE(reader_.wait());
    start();
    ASSERT_TRUE(await(called_, patience));
    for (std::uint32_t i = 0; i < 60; ++i) {
        ASSERT_EQ(guest_takes(), make_numbered_frame(i, 60));
    }
    // It does not wait for frames when it sends, and is not called.
    ASSERT_TRUE(guest_sends(make_numbered_frame(1, 60)));
    EXPECT_EQ(take_frame(other()), make_numbered_frame(1, 60));
    EXPECT_EQ(stop().calls, 1U);
}

// Waiting for frames is no reason to be called when some were sent.
TEST_F(Relay, AGuestThatWaitsIsLeftInPeace) {
    start();
    ASSERT_TRUE(reader_.wait());
    for (std::uint32_t i = 0; i < 100; ++i) {
        ASSERT_TRUE(guest_sends(make_numbered_frame(i, 60)));
        EXPECT_EQ(take_frame(other()), make_numbered_frame(i, 60));
    }
    EXPECT_EQ(stop().calls, 0U);
    EXPECT_EQ(received_->counters.reader_waits, 1U);
}

TEST_F(Relay, WhatIsNoFrameIsDropped) {
    start();
    for (std::size_t bytes = 1; bytes < 14; ++bytes) {
        ASSERT_TRUE(guest_sends(Bytes(bytes, 1)));
        ASSERT_TRUE(send_frame(other(), Bytes(bytes, 1)));
    }
    ASSERT_TRUE(guest_sends(make_numbered_frame(1, 14)));
    ASSERT_TRUE(send_frame(other(), make_numbered_frame(2, 16384)));
    EXPECT_EQ(take_frame(other()), make_numbered_frame(1, 14));
    EXPECT_EQ(guest_takes(), make_numbered_frame(2, 16384));
    const PacketCounts& counts = stop();
    EXPECT_EQ(counts.sent_dropped, 13U);
    EXPECT_EQ(counts.received_dropped, 13U);
    EXPECT_EQ(counts.sent, 1U);
}

TEST_F(Relay, ScribbledRingsHarmNobody) {
    start();
    std::mt19937 random(1);
    for (int round = 0; round < 20000; ++round) {
        PacketRing& ring_of = random() % 2 != 0 ? *sent_ : *received_;
        auto* const words = reinterpret_cast<std::uint32_t*>(&ring_of);
        const std::size_t place = random() % 3 == 0 ? (random() % 2 != 0 ? 0 : 16) + (random() % 2)
                                                    : random() % (sizeof(PacketRing) / 4);
        const auto value = static_cast<std::uint32_t>(random() % 2 != 0 ? random() : random() % 2000);
        __atomic_store_n(&words[place], value, __ATOMIC_RELAXED);
        if (random() % 4 == 0) {
            ring();
        }
        send_frame(other(), make_numbered_frame(0, 14 + (random() % 2000)));
        std::array<std::uint8_t, 64> ignored{};
        while (recv(other(), ignored.data(), ignored.size(), MSG_DONTWAIT) > 0) {
        }
    }
    // A counter that no writer leaves there: it is not looked at again and again.
    __atomic_store_n(&sent_->counters.produced, 5U, __ATOMIC_RELAXED);
    __atomic_store_n(&received_->counters.consumed, 0x80000003U, __ATOMIC_RELAXED);
    ring();
    std::this_thread::sleep_for(50ms);
    const double before = seconds_of_relay();
    std::this_thread::sleep_for(300ms);
    EXPECT_LT(seconds_of_relay() - before, 0.1);
    EXPECT_FALSE(relay_.end_lost());
    stop();
}

TEST_F(Relay, WithoutItsEndTheGuestRunsOn) {
    start();
    ASSERT_TRUE(send_frame(other(), make_numbered_frame(1, 60)));
    EXPECT_EQ(guest_takes(), make_numbered_frame(1, 60));
    pair_.theirs.close();
    constexpr std::uint32_t frames = 2000;
    for (std::uint32_t i = 0; i < frames; ++i) {
        ASSERT_TRUE(guest_sends(make_numbered_frame(i, 1514)));
    }
    EXPECT_TRUE(relay_.end_lost());
    std::this_thread::sleep_for(50ms);
    const double before = seconds_of_relay();
    std::this_thread::sleep_for(200ms);
    EXPECT_LT(seconds_of_relay() - before, 0.1);
    const PacketCounts& counts = stop();
    EXPECT_EQ(counts.ends_lost, 1U);
    EXPECT_EQ(counts.sent_dropped, frames);
}

TEST_F(Relay, ARestoredEndIsUsed) {
    start();
    for (std::uint64_t times = 1; times <= 3; ++times) {
        pair_.theirs.close();
        ASSERT_TRUE(await(down_, patience));
        ASSERT_TRUE(await(events_.lost, patience));
        PacketPair next = make_packet_pair();
        fcntl(next.ours.number(), F_SETFL, O_NONBLOCK);
        ASSERT_EQ(dup2(next.ours.number(), pair_.ours.number()), pair_.ours.number());
        pair_.theirs = std::move(next.theirs);
        next.ours.close(); // else there would be two of it
        eventfd_write(events_.restored.number(), 1);
        ASSERT_TRUE(await(up_, patience));
        ASSERT_TRUE(send_frame(other(), make_numbered_frame(1, 60)));
        EXPECT_EQ(guest_takes(), make_numbered_frame(1, 60));
        ASSERT_TRUE(guest_sends(make_numbered_frame(2, 60)));
        EXPECT_EQ(take_frame(other()), make_numbered_frame(2, 60));
    }
    EXPECT_EQ(stop().ends_lost, 3U);
}

TEST_F(Relay, ACableCanBePulledAndPlugged) {
    start();
    kill(getpid(), SIGUSR1);
    ASSERT_TRUE(await(down_, patience));
    constexpr std::uint32_t frames = 100;
    for (std::uint32_t i = 0; i < frames; ++i) {
        ASSERT_TRUE(guest_sends(make_numbered_frame(i, 60)));
        ASSERT_TRUE(send_frame(other(), make_numbered_frame(i, 60)));
    }
    ASSERT_TRUE(await_drained());
    EXPECT_FALSE(reader_.next());
    kill(getpid(), SIGUSR2);
    ASSERT_TRUE(await(up_, patience));
    ASSERT_TRUE(send_frame(other(), make_numbered_frame(frames, 60)));
    EXPECT_EQ(guest_takes(), make_numbered_frame(frames, 60));
    ASSERT_TRUE(guest_sends(make_numbered_frame(frames, 60)));
    EXPECT_EQ(take_frame(other()), make_numbered_frame(frames, 60));
    kill(getpid(), SIGUSR1);
    ASSERT_TRUE(await(down_, patience));
    const PacketCounts& counts = stop();
    EXPECT_EQ(counts.sent_dropped, frames);
    EXPECT_EQ(counts.received_dropped, frames);
    EXPECT_EQ(counts.ends_lost, 0U);
}

TEST_F(Relay, LastWordsAreSent) {
    ASSERT_TRUE(guest_sends(make_numbered_frame(1, 60)));
    eventfd_write(events_.ended.number(), 1);
    start();
    thread_.join();
    EXPECT_EQ(take_frame(other()), make_numbered_frame(1, 60));
}

} // namespace

} // namespace previrt
