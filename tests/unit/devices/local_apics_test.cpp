// SPDX-License-Identifier: BSD-2-Clause
#include "devices/local_apic/local_apics.hpp"

#include <gtest/gtest.h>

namespace previrt {
namespace {

constexpr std::uint8_t vector = 0x51;
constexpr std::uint32_t self = 1U << 18U;
constexpr std::uint32_t all = 2U << 18U;
constexpr std::uint32_t all_but_self = 3U << 18U;
constexpr std::uint32_t logical = 1U << 11U;
constexpr std::uint32_t assert_level = 1U << 14U;
constexpr std::uint32_t level = 1U << 15U;

class LocalApicsTest : public testing::Test {
protected:
    void SetUp() override { apics.start(processors); }

    void start_all() {
        for (unsigned i = 1; i < processors; ++i) {
            send(0, i, deliver_init | assert_level);
            send(0, i, deliver_start | 0x9aU);
        }
        apics.notified = 0;
    }
    bool try_send(unsigned from, unsigned address, std::uint32_t low) {
        apics.write(from, apic_command_high, address << 24U, now);
        return apics.write(from, apic_command_low, low, now).is_modelled;
    }
    void send(unsigned from, unsigned address, std::uint32_t low) {
        ASSERT_TRUE(try_send(from, address, low));
    }
    // The processors that have the vector requested. It is taken and ended.
    std::uint64_t take() {
        std::uint64_t taken = 0;
        for (unsigned i = 0; i < processors; ++i) {
            if (apics.of(i).highest_request() == vector) {
                apics.of(i).acknowledge();
                EXPECT_FALSE(apics.write(i, apic_end_of_interrupt, 0, now).ended);
                taken |= std::uint64_t{1} << i;
            }
        }
        EXPECT_EQ(apics.notified, taken);
        apics.notified = 0;
        return taken;
    }

    static constexpr unsigned processors = 5;
    static constexpr std::uint64_t now = 1000;
    LocalApics apics{};
};

TEST_F(LocalApicsTest, OthersWaitForTheirStart) {
    EXPECT_NE(apics.of(0).base & base_boot_processor, 0U);
    EXPECT_FALSE(apics.of(0).waits_for_start);
    EXPECT_TRUE(apics.of(0).passes_external());
    for (unsigned i = 1; i < processors; ++i) {
        EXPECT_EQ(apics.of(i).base, LocalApic::place | base_enabled);
        EXPECT_TRUE(apics.of(i).waits_for_start);
        EXPECT_EQ(apics.of(i).read(apic_id, now), i << 24U);
        EXPECT_FALSE(apics.of(i).passes_external());
    }
    send(0, 0, all | vector);
    EXPECT_TRUE(apics.of(0).highest_request());
    EXPECT_FALSE(apics.of(1).has_request());
    EXPECT_EQ(apics.of(0).write_base(LocalApic::place | base_enabled), LocalApic::BaseWrite::not_modelled);
}

TEST_F(LocalApicsTest, CommandsReachWhomTheyAreFor) {
    start_all();
    send(0, 3, vector);
    EXPECT_EQ(take(), 0x08U);
    send(3, 0, vector);
    EXPECT_EQ(take(), 0x01U);
    send(2, 0xff, vector);
    EXPECT_EQ(take(), 0x1fU);
    send(2, 0, self | vector);
    EXPECT_EQ(take(), 0x04U);
    send(2, 0, all | vector);
    EXPECT_EQ(take(), 0x1fU);
    send(2, 0, all_but_self | vector);
    EXPECT_EQ(take(), 0x1bU);
    send(0, 77, vector);
    EXPECT_EQ(take(), 0U);
}

TEST_F(LocalApicsTest, LogicalDestinations) {
    start_all();
    for (unsigned i = 0; i < processors; ++i) {
        apics.write(i, apic_logical_destination, 0x01000000U << i, now);
    }
    send(1, 0x0a, logical | vector);
    EXPECT_EQ(take(), 0x0aU);
    for (unsigned i = 0; i < processors; ++i) { // two clusters
        apics.write(i, apic_destination_format, 0x0fffffff, now);
        apics.write(i, apic_logical_destination,
                    i < 2 ? 0x10000000U | (0x1000000U << i) : 0x20000000U | (0x1000000U << (i - 2)), now);
    }
    send(1, 0x13, logical | vector);
    EXPECT_EQ(take(), 0x03U);
    send(1, 0x25, logical | vector);
    EXPECT_EQ(take(), 0x14U);
    send(1, 0xf1, logical | vector);
    EXPECT_EQ(take(), 0x05U);
}

TEST_F(LocalApicsTest, LowestPriorityIsOne) {
    start_all();
    apics.write(0, apic_task_priority, 0x30, now);
    apics.write(1, apic_task_priority, 0x20, now);
    send(0, 0xff, deliver_lowest_priority | vector);
    EXPECT_EQ(take(), 0x04U);
    for (unsigned i = 2; i < processors; ++i) {
        apics.write(i, apic_task_priority, 0x40, now);
    }
    send(0, 0xff, deliver_lowest_priority | vector);
    EXPECT_EQ(take(), 0x02U);
}

TEST_F(LocalApicsTest, InitThenStart) {
    LocalApic& apic = apics.of(2);
    send(0, 2, deliver_start | 0x9aU);
    EXPECT_FALSE(apic.waits_for_start);
    EXPECT_TRUE(apic.start_requested);
    EXPECT_EQ(apic.start_vector, 0x9a);
    apic.start_requested = false;
    send(0, 2, deliver_start | 0x11U); // it runs
    EXPECT_FALSE(apic.start_requested);
    EXPECT_EQ(apic.start_vector, 0x9a);
    apics.write(2, apic_task_priority, 0x20, now);
    send(0, 2, deliver_init | level); // the end of the level
    EXPECT_FALSE(apic.reset_requested);
    send(0, 2, deliver_init | level | assert_level);
    EXPECT_TRUE(apic.reset_requested);
    EXPECT_TRUE(apic.waits_for_start);
    EXPECT_EQ(apic.read(apic_task_priority, now), 0U);
    EXPECT_EQ(apic.read(apic_id, now), 2U << 24U);
    EXPECT_TRUE(apic.is_enabled());
    send(0, 2, deliver_nmi); // neither does it take interrupts
    send(0, 2, vector);
    EXPECT_FALSE(apic.nmi_requested);
    EXPECT_FALSE(apic.has_request());
    send(0, 2, deliver_start | 0x9bU);
    EXPECT_TRUE(apic.start_requested);
    EXPECT_EQ(apic.start_vector, 0x9b);
}

TEST_F(LocalApicsTest, NmiReachesEachButTheSender) {
    start_all();
    send(1, 0, all_but_self | deliver_nmi);
    for (unsigned i = 0; i < processors; ++i) {
        EXPECT_EQ(apics.of(i).nmi_requested, i != 1);
    }
    EXPECT_EQ(apics.notified, 0x1dU);
}

TEST_F(LocalApicsTest, OthersAreNotModelled) {
    start_all();
    EXPECT_FALSE(
        try_send(1, 0, deliver_init | assert_level)); // the boot processor would begin at the reset vector
    EXPECT_FALSE(try_send(0, 1, deliver_system_management));
    EXPECT_FALSE(try_send(0, 1, deliver_external));
    EXPECT_FALSE(try_send(0, 1, 3U << 8U));
}

TEST_F(LocalApicsTest, ThereAreAtMostSixtyFour) {
    apics.start(1000);
    EXPECT_EQ(apics.all().size(), LocalApics::most);
    EXPECT_EQ(apics.of(63).read(apic_id, now), 63U << 24U);
}

} // namespace
} // namespace previrt
