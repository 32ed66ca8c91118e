// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/devices/virtio/balloon_machine.hpp"

#include <gtest/gtest.h>

namespace previrt {
namespace {

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

class Balloon : public testing::Test, protected BalloonMachine {};

TEST_F(Balloon, FunctionLeadsToItsRegisters) {
    Pci pci;
    const PciFunction* const function = VirtioBalloon::add_function(pci, 4);
    ASSERT_NE(function, nullptr);
    EXPECT_EQ(function->read(0, 4), 0x1045'1af4U);
    EXPECT_EQ(function->read(0x06, 2) & 0x10U, 0x10U);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> structures(5); // offset and bytes, by type
    unsigned count = 0;
    for (std::uint32_t at = function->read(0x34, 1); at != 0; at = function->read(at + 1, 1), ++count) {
        ASSERT_EQ(function->read(at, 1), 9U);
        EXPECT_EQ(function->read(at + 4, 1), 0U); // of BAR 0
        const std::uint32_t type = function->read(at + 3, 1);
        ASSERT_LT(type, structures.size());
        structures[type] = {function->read(at + 8, 4), function->read(at + 12, 4)};
        if (type == 2) {
            EXPECT_EQ(function->read(at + 2, 1), 20U);
            EXPECT_EQ(function->read(at + 16, 4), 0U);
        }
    }
    EXPECT_EQ(count, 4U);
    EXPECT_EQ(structures[1], std::pair(0U, 56U));
    EXPECT_EQ(structures[2].first, static_cast<std::uint32_t>(notify));
    EXPECT_EQ(structures[3].first, static_cast<std::uint32_t>(interrupt_status));
    EXPECT_EQ(structures[4], std::pair(static_cast<std::uint32_t>(num_pages), 8U));
}

TEST_F(Balloon, FeaturesAreNegotiated) {
    EXPECT_EQ(get(device_feature, 4), 1U << 5U | 1U << 28U);
    set(device_feature_select, 4, 1);
    EXPECT_EQ(get(device_feature, 4), 1U);
    set(device_feature_select, 4, 2);
    EXPECT_EQ(get(device_feature, 4), 0U);
    accept(reporting); // not version 1
    EXPECT_EQ(get(device_status, 1), 3U);
    accept(all_features | std::uint64_t{1} << 3U); // not offered
    EXPECT_EQ(get(device_status, 1), 3U);
    set(device_status, 1, 4);
    EXPECT_EQ(get(device_status, 1), 3U);
    accept(version_1);
    EXPECT_EQ(get(device_status, 1), 11U);
    set(driver_feature_select, 4, 0);
    set(driver_feature, 4, 0xffff'ffff); // too late
    EXPECT_EQ(get(driver_feature, 4), 0U);
    set(device_status, 1, 0);
    EXPECT_EQ(get(device_status, 1), 0U);
    EXPECT_EQ(refused, 0U);
}

TEST_F(Balloon, QueuesAreThoseOfLinuxAndOfTheSpecification) {
    EXPECT_EQ(get(num_queues, 2), 5U);
    for (const std::uint32_t number : {0U, 1U, 2U, 3U, 4U, 5U, 8U, 0xffffU}) {
        set(queue_select, 2, number);
        EXPECT_EQ(get(queue_size, 2), number == 3 || number > 4 ? 0U : 64U) << number;
        set(queue_enable, 2, number == 3 || number > 4 ? 1U : 0U); // does nothing
        EXPECT_EQ(get(queue_enable, 2), 0U);
    }
    set(queue_select, 2, 4);
    set(queue_size, 2, 63);
    set(queue_size, 2, 128);
    set(queue_size, 2, 0);
    EXPECT_EQ(get(queue_size, 2), 64U);
    enable_queue(4);
    EXPECT_EQ(get(queue_enable, 2), 1U);
    set(queue_size, 2, 16);
    set(queue_desc, 4, 0x5000);
    EXPECT_EQ(get(queue_size, 2), 8U);
    EXPECT_EQ(get(queue_desc, 4), descriptors + (4 * queue_stride));
    EXPECT_EQ(refused, 0U);
}

TEST_F(Balloon, RegistersHaveTheirOwnWidths) {
    for (const auto& [offset, width] :
         {std::pair(0U, 2U), std::pair(0x14U, 4U), std::pair(0x16U, 1U), std::pair(0x20U, 2U),
          std::pair(0x39U, 1U), std::pair(0x3cU, 4U), std::pair(0x40U, 2U), std::pair(0x48U, 4U),
          std::pair(0x41U, 4U), std::pair(0x7fU, 1U)}) {
        EXPECT_FALSE(balloon.read(offset, width)) << offset;
        EXPECT_FALSE(balloon.write(offset, width, 1)) << offset;
    }
}

TEST_F(Balloon, ReportedPagesAreTaken) {
    start();
    describe(2, 0, 40 * page, 2 * page, write | next, 1);
    describe(2, 1, 50 * page, page, write);
    offer(2, 0);
    EXPECT_FALSE(balloon.is_notified());
    kick(2);
    EXPECT_EQ(taken, (Ranges{{40 * page, 2 * page}, {50 * page, page}}));
    EXPECT_EQ(used_index(2), 1U);
    EXPECT_EQ(ram.load<std::uint64_t>(used + (2 * queue_stride) + 4), 0U); // chain 0, nothing written
    EXPECT_TRUE(balloon.interrupt_line());
    EXPECT_EQ(get(interrupt_status, 1), 1U);
    EXPECT_FALSE(balloon.interrupt_line());
    EXPECT_EQ(balloon.taken_pages, 3U);
    kick(2); // there is nothing new
    EXPECT_EQ(taken.size(), 2U);
    EXPECT_FALSE(balloon.interrupt_line());
}

TEST_F(Balloon, ReportsMayBeIndirect) {
    start();
    constexpr std::uint64_t table = 0x8000;
    put(table, 0, 40 * page, page, write | next, 2);
    put(table, 2, 41 * page, page, write);
    describe(2, 5, table, 3 * 16, indirect);
    offer(2, 5);
    kick(2);
    EXPECT_EQ(taken, (Ranges{{40 * page, page}, {41 * page, page}}));
    EXPECT_EQ(ram.load<std::uint32_t>(used + (2 * queue_stride) + 4), 5U);
}

TEST_F(Balloon, OnlyWholePagesOfRamAreTaken) {
    start();
    const std::pair<std::uint64_t, std::uint32_t> reports[] = {
        {(40 * page) + 1, static_cast<std::uint32_t>(2 * page)}, // the page in between
        {40 * page, static_cast<std::uint32_t>(page - 1)},
        {63 * page, static_cast<std::uint32_t>(2 * page)}, // beyond RAM
        {40 * page, 0},
        {~std::uint64_t{0} - page + 1, static_cast<std::uint32_t>(page)},
        {~std::uint64_t{0}, 0xffff'ffff},
        {0, 0xffff'ffff},
    };
    for (const auto& [address, bytes] : reports) {
        describe(2, 0, address, bytes, write);
        offer(2, 0);
        kick(2);
    }
    EXPECT_EQ(taken, (Ranges{{41 * page, page}}));
    EXPECT_EQ(used_index(2), std::size(reports));
    EXPECT_FALSE(needs_reset());
}

TEST_F(Balloon, InflatedPagesAreTakenByRuns) {
    start();
    std::uint64_t at = 0x8000;
    for (const std::uint32_t number : {20U, 21U, 22U, 31U, 30U, 29U, 50U, 5000U, 0xffff'ffffU}) {
        ram.store(at, number);
        at += 4;
    }
    describe(0, 3, 0x8000, 9 * 4);
    offer(0, 3);
    kick(0);
    EXPECT_EQ(taken, (Ranges{{20 * page, 3 * page}, {29 * page, 3 * page}, {50 * page, page}}));
    describe(1, 0, 0x8000, 9 * 4);
    offer(1, 0);
    kick(1);
    EXPECT_EQ(used_index(1), 1U); // deflated: they come back by being used
    EXPECT_EQ(taken.size(), 3U);
    set(actual, 4, 7);
    EXPECT_EQ(get(actual, 4), 7U);
    EXPECT_EQ(get(num_pages, 4), 0U);
    set(device_status, 1, 0);
    EXPECT_EQ(get(actual, 4), 0U);
}

TEST_F(Balloon, DriverMayWantNoInterrupt) {
    start();
    ram.store<std::uint16_t>(available + (2 * queue_stride), 1);
    describe(2, 0, 40 * page, static_cast<std::uint32_t>(page), write);
    offer(2, 0);
    kick(2);
    EXPECT_EQ(used_index(2), 1U);
    EXPECT_FALSE(balloon.interrupt_line());
}

TEST_F(Balloon, NothingIsServedBeforeItIsRunning) {
    accept(all_features);
    enable_queue(2);
    describe(2, 0, 40 * page, static_cast<std::uint32_t>(page), write);
    offer(2, 0);
    kick(2);
    EXPECT_EQ(used_index(2), 0U);
    set(device_status, 1, 15);
    kick(0); // not enabled
    kick(9);
    EXPECT_EQ(used_index(2), 0U);
    kick(2);
    EXPECT_EQ(used_index(2), 1U);
    set(notify, 2, 2);
    set(device_status, 1, 0);
    EXPECT_FALSE(balloon.is_notified());
}

// A structure that cannot be: the device says so, and does nothing more until its reset.
class BrokenQueue : public Balloon, public testing::WithParamInterface<unsigned> {};

TEST_P(BrokenQueue, NeedsAReset) {
    start(GetParam() == 5 ? all_features & ~indirect_tables : all_features);
    describe(2, 0, 40 * page, static_cast<std::uint32_t>(page), write);
    constexpr std::uint64_t table = 0x8000;
    put(table, 0, table, 16, indirect);
    std::uint16_t head = 0;
    switch (GetParam()) {
    case 0: // a chain without end
        describe(2, 0, 40 * page, 0, write | next, 0);
        break;
    case 1:
        head = entries;
        break;
    case 2: // past the table
        describe(2, 0, 40 * page, 0, write | next, entries);
        break;
    case 3: // a table in a table
        describe(2, 0, table, 16, indirect);
        break;
    case 4: // a table that is no table
        describe(2, 0, table, 17, indirect);
        break;
    case 5: // not negotiated
        put(table, 0, 40 * page, 0, write);
        describe(2, 0, table, 16, indirect);
        break;
    case 6: // with a rest of the chain
        put(table, 0, 40 * page, 0, write);
        describe(2, 0, table, 16, indirect | next, 1);
        break;
    case 7: // outside RAM
        describe(2, 0, ram_bytes - 8, 16, indirect);
        break;
    case 8:
        describe(2, 0, ~std::uint64_t{0} - 15, 32, indirect);
        break;
    case 9: // more chains than there can be
        ram.store<std::uint16_t>(available + (2 * queue_stride) + 2, entries + 1);
        break;
    case 10:
        describe(2, 0, table, 0, indirect);
        break;
    default: // a used ring outside RAM
        balloon.transport.queues[2].used = ram_bytes;
    }
    offer(2, head);
    kick(2);
    EXPECT_TRUE(needs_reset());
    EXPECT_EQ(used_index(2), 0U);
    EXPECT_EQ(get(interrupt_status, 1), 2U);
    kick(2);
    EXPECT_FALSE(balloon.is_notified());
    EXPECT_FALSE(balloon.interrupt_line());
    set(device_status, 1, 0);
    EXPECT_EQ(get(device_status, 1), 0U);
}
INSTANTIATE_TEST_SUITE_P(All, BrokenQueue, testing::Range(0U, 12U));

TEST_F(Balloon, QueueAtAnImpossibleAddressNeedsAReset) {
    for (const std::uint32_t offset : {queue_desc + 0U, queue_driver + 0U, queue_device + 0U}) {
        set(device_status, 1, 0);
        accept(all_features);
        set(queue_select, 2, 2);
        set(offset, 4, offset == queue_desc ? 8 : 1);
        set(queue_enable, 2, 1);
        EXPECT_TRUE(needs_reset());
        set(device_status, 1, 0);
        set(queue_select, 2, 2);
        set(offset + 4, 4, 0xffff'ffff);
        set(queue_enable, 2, 1);
        EXPECT_TRUE(needs_reset());
        EXPECT_EQ(get(queue_enable, 2), 0U);
        EXPECT_FALSE(balloon.interrupt_line()); // no driver is there yet
    }
}

} // namespace
} // namespace previrt
