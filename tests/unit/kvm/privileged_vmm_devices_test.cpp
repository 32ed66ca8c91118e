// SPDX-License-Identifier: BSD-2-Clause
// Interrupts by what a VMM says in its mailbox, and what a guest can write there.
#include "monitor/kvm/privileged/devices.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <initializer_list>
#include <optional>

namespace previrt {

namespace {

using namespace kvm_privileged;

constexpr std::uint64_t millisecond = 1'000'000;
constexpr std::uint64_t now = 1000 * millisecond;

class DevicesOfAVmm : public testing::Test {
protected:
    void SetUp() override {
        mailbox.deadline = mailbox.output_deadline = mailbox.timer = never;
        mailbox.request_vector = mailbox.deadline_vector = mailbox.input_vector = no_vector;
    }

    // Empty: none is asked for. Otherwise it is delivered.
    std::optional<std::uint8_t> take(std::uint64_t when) {
        devices.look(when);
        return devices.interrupt_requested() ? std::optional(devices.acknowledge()) : std::nullopt;
    }

    // As a VMM that has looked at its devices.
    void deliver_tick(std::uint64_t when) {
        mailbox.delivered = Cause::none;
        mailbox.deadline = when;
        mailbox.deadline_vector = 0x30;
        ASSERT_EQ(take(when), 0x30);
        ASSERT_EQ(mailbox.delivered, Cause::deadline);
    }

    Mailbox mailbox{};
    monitored::ConsoleRing input{};
    VmmDevices devices{mailbox, input};
};

TEST_F(DevicesOfAVmm, AreSilentAtFirst) {
    EXPECT_FALSE(devices.interrupt_requested());
    EXPECT_EQ(take(now), std::nullopt);
    EXPECT_EQ(mailbox.delivered, Cause::none);
    EXPECT_EQ(devices.deadline(now), never);
}

TEST_F(DevicesOfAVmm, DeliverInOrder) {
    mailbox.request_vector = 0x31;
    mailbox.deadline = now;
    mailbox.deadline_vector = 0x30;
    mailbox.input_vector = 0x34;
    input.produced = 1;
    EXPECT_EQ(take(now), 0x31);
    EXPECT_EQ(mailbox.delivered, Cause::request);
    EXPECT_FALSE(devices.interrupt_requested());

    mailbox.delivered = Cause::none;
    mailbox.request_vector = no_vector;
    EXPECT_EQ(take(now), 0x30);
    EXPECT_EQ(mailbox.delivered, Cause::deadline);

    mailbox.delivered = Cause::none;
    mailbox.deadline = now + 1;
    EXPECT_EQ(take(now), 0x34);
    EXPECT_EQ(mailbox.delivered, Cause::input);

    mailbox.delivered = Cause::none;
    input.consumed = 1;
    EXPECT_EQ(take(now), std::nullopt);
    EXPECT_EQ(mailbox.delivered, Cause::none);
}

TEST_F(DevicesOfAVmm, AskForNothingOnTheirOwn) {
    mailbox.deadline = now;
    mailbox.deadline_vector = 0x30;
    devices.look(now - 1);
    EXPECT_FALSE(devices.interrupt_requested());
    devices.look(now);
    EXPECT_TRUE(devices.interrupt_requested());
    EXPECT_EQ(mailbox.delivered, Cause::none); // by INTA alone
    mailbox.deadline = never;
    devices.look(now);
    EXPECT_FALSE(devices.interrupt_requested());
}

TEST_F(DevicesOfAVmm, WaitForTheVmmAfterEachInterrupt) {
    mailbox.request_vector = 0x31;
    mailbox.deadline = now;
    mailbox.deadline_vector = 0x30;
    mailbox.input_vector = 0x34;
    input.produced = 1;
    for (const Cause delivered :
         {Cause::request, Cause::deadline, Cause::input, static_cast<Cause>(4), static_cast<Cause>(~0U)}) {
        mailbox.delivered = delivered;
        EXPECT_EQ(take(now), std::nullopt);
        EXPECT_EQ(mailbox.delivered, delivered);
    }
}

TEST_F(DevicesOfAVmm, TakeNoMoreThanAByteForAVector) {
    mailbox.deadline = now;
    input.produced = 1;
    for (const std::uint32_t vector : {256U, 257U, 0x130U, 0x80000030U, ~0U}) {
        mailbox.request_vector = mailbox.deadline_vector = mailbox.input_vector = vector;
        EXPECT_EQ(take(now), std::nullopt) << vector;
        EXPECT_EQ(mailbox.delivered, Cause::none);
    }
    mailbox.input_vector = 0x34; // what is nothing hides nothing
    EXPECT_EQ(take(now), 0x34);
    mailbox.delivered = Cause::none;
    mailbox.deadline_vector = 255;
    EXPECT_EQ(take(now), 255);
    mailbox.delivered = Cause::none;
    mailbox.request_vector = 0;
    EXPECT_EQ(take(now), 0);
}

TEST_F(DevicesOfAVmm, SeeInputByCountersThatDiffer) {
    mailbox.input_vector = 0x34;
    for (const std::uint32_t consumed : {0U, 1U, 0xffffffffU}) {
        input.consumed = input.produced = consumed;
        EXPECT_EQ(take(now), std::nullopt);
        for (const std::uint32_t ahead : {1U, 4097U, 0x80000000U, 0xffffffffU}) {
            input.produced = consumed + ahead;
            EXPECT_EQ(take(now), 0x34);
            EXPECT_EQ(input.produced, consumed + ahead);
            EXPECT_EQ(input.consumed, consumed);
            mailbox.delivered = Cause::none;
        }
    }
}

TEST_F(DevicesOfAVmm, LookAgainAtTheDeadline) {
    mailbox.deadline = now + 1;
    EXPECT_EQ(devices.deadline(now), now + 1);
    mailbox.deadline = never - 1;
    EXPECT_EQ(devices.deadline(now), never - 1);
    // What has passed comes no more, delivered or not.
    for (const std::uint64_t deadline : {now, now - 1, std::uint64_t{0}, never}) {
        mailbox.deadline = deadline;
        EXPECT_EQ(devices.deadline(now), never);
    }
}

TEST_F(DevicesOfAVmm, ExpectATickAfterATick) {
    deliver_tick(now);
    deliver_tick(now + (4 * millisecond));
    EXPECT_EQ(devices.deadline(now + (4 * millisecond)), now + (8 * millisecond));
    EXPECT_EQ(devices.deadline(now + (6 * millisecond)), now + (8 * millisecond));
    // The VMM has not looked: so a while later.
    EXPECT_EQ(devices.deadline(now + (8 * millisecond)), now + (9 * millisecond));
    EXPECT_EQ(devices.deadline(now + (100 * millisecond)), now + (101 * millisecond));
    mailbox.deadline = now + (8 * millisecond) - 5; // it has
    mailbox.delivered = Cause::none;
    EXPECT_EQ(devices.deadline(now + (4 * millisecond)), now + (8 * millisecond) - 5);
    // Another interrupt leaves the expectation alone.
    mailbox.request_vector = 0x31;
    ASSERT_EQ(take(now + (5 * millisecond)), 0x31);
    EXPECT_EQ(devices.deadline(now + (5 * millisecond)), now + (8 * millisecond));
}

// A deadline is delivered when it has come: those near the end of time, at that time.
TEST_F(DevicesOfAVmm, ExpectNoTickBeforeTheLast) {
    const std::initializer_list<std::uint64_t> deadlines = {
        1,         now,  std::uint64_t{1} << 63U, (std::uint64_t{1} << 63U) + 1, never - (2 * millisecond),
        never - 1, never};
    for (const std::uint64_t first : deadlines) {
        for (const std::uint64_t next : deadlines) {
            deliver_tick(first);
            deliver_tick(next);
            const std::uint64_t period = next > first ? next - first : 0;
            const std::uint64_t expected = next > never - period ? never : next + period;
            for (const std::uint64_t when : {std::uint64_t{0}, now, never - (3 * millisecond)}) {
                EXPECT_EQ(devices.deadline(when), std::max(expected, when + millisecond))
                    << first << " " << next << " " << when;
            }
            EXPECT_GE(devices.deadline(next), next);
        }
    }
}

} // namespace

} // namespace previrt
