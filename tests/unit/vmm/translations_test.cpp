// SPDX-License-Identifier: BSD-2-Clause
// Translations that the VMM keeps for a supervisor's accesses, while the tables on their way change.
#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/paging/page_table_writes.hpp"
#include "frontends/x86/paging/page_walk.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "tests/unit/vmm/fake_backend.hpp"
#include "tests/unit/vmm/guest_tables.hpp"
#include "tests/unit/vmm/guest_view.hpp"

#include <gtest/gtest.h>

namespace previrt {

namespace {

constexpr std::uint64_t kernel = 0xffff900000000000;
constexpr std::uint64_t preset = page_present | page_writable | page_accessed | page_dirty;
constexpr std::uint64_t last_table = 4; // frames 1 to 4 are the way to `kernel`
constexpr unsigned slot_of_table = 1;   // where the kernel sees the last of them
constexpr unsigned slot_of_page = 2;

constexpr std::uint64_t place(std::uint64_t frame, unsigned index) {
    return (frame * page_bytes) + (index * std::uint64_t{8});
}

constexpr std::uint64_t kernel_address(unsigned slot, unsigned index) {
    return kernel + place(slot, index);
}

class Translations : public testing::Test {
protected:
    void SetUp() override {
        fake::start(RandomGuest::ram_bytes, 100);
        enter_long_mode();
        guest_entry(place(1, table_index(kernel, 4))) = place(2, 0) | preset;
        guest_entry(place(2, 0)) = place(3, 0) | preset;
        guest_entry(place(3, 0)) = place(last_table, 0) | preset;
        map(slot_of_table, last_table);
        map(slot_of_page, 10);
        vcpu.cr3 = page_bytes;
        load_shadow_root();
    }

    static void map(unsigned slot, std::uint64_t frame) {
        guest_entry(place(last_table, slot)) = place(frame, 0) | preset;
    }

    // As an annotated store to an entry of level 1.
    static void write_entry(std::uint64_t address, std::uint64_t entry) {
        Instruction instruction{};
        instruction.kind = SiteKind::page_table_write;
        instruction.operand_is_memory = true;
        instruction.reg = rcx;
        instruction.effective = address;
        instruction.annotation = 1;
        vcpu.registers.general[rcx] = entry;
        execute_page_table_access(instruction);
    }

    static void map_annotated(unsigned index, std::uint64_t entry) {
        write_entry(kernel_address(slot_of_table, index), entry);
        ASSERT_EQ(guest_entry(place(last_table, index)), entry);
    }
};

// Another processor stores between the walk and the accessed bits.
TEST_F(Translations, AnEntryThatHasChangedSinceTheWalkGetsNoAccessedBit) {
    constexpr unsigned slot = 3;
    std::uint64_t& entry = guest_entry(place(last_table, slot));
    for (const std::uint64_t changed : {std::uint64_t{0}, place(11, 0) | page_present | page_writable}) {
        entry = place(10, 0) | page_present | page_writable;
        PageWalk walk = walk_page(kernel_address(slot, 0), {.write = true});
        ASSERT_FALSE(walk.faults);
        entry = changed;
        EXPECT_FALSE(mark_accessed(walk, true));
        EXPECT_EQ(entry, changed);
    }
    PageWalk again = walk_page(kernel_address(slot, 0), {.write = true});
    EXPECT_TRUE(mark_accessed(again, true));
    EXPECT_EQ(entry, place(11, 0) | preset);
    EXPECT_EQ(again.entry[1], place(11, 0) | preset);
}

TEST_F(Translations, FollowAWriteToATableOnTheirWay) {
    write_entry(kernel_address(slot_of_page, 0), 0x1000);
    EXPECT_EQ(guest_entry(place(10, 0)), 0x1000U);
    map_annotated(slot_of_page, place(11, 0) | preset);
    write_entry(kernel_address(slot_of_page, 0), 0x2000);
    EXPECT_EQ(guest_entry(place(10, 0)), 0x1000U);
    EXPECT_EQ(guest_entry(place(11, 0)), 0x2000U);
    std::uint64_t read = 0;
    ASSERT_TRUE(read_guest(kernel_address(slot_of_page, 0), read));
    EXPECT_EQ(read, 0x2000U);
    map_annotated(slot_of_page, place(12, 0) | preset);
    ASSERT_TRUE(write_guest(kernel_address(slot_of_page, 1), std::uint64_t{3}));
    EXPECT_EQ(guest_entry(place(11, 1)), 0U);
    EXPECT_EQ(guest_entry(place(12, 1)), 3U);
}

// Another table is written between: it must not hide that this one was walked.
TEST_F(Translations, FollowBehindAWriteToAnotherTable) {
    write_entry(kernel_address(slot_of_page, 0), place(13, 0) | preset);
    write_entry(kernel_address(slot_of_page, 0), place(14, 0) | preset);
    map_annotated(slot_of_page, 0);
    write_entry(kernel_address(slot_of_page, 0), 0);
    EXPECT_TRUE(exception_is_raised());
    EXPECT_EQ(guest_entry(place(10, 0)), place(14, 0) | preset);
}

TEST_F(Translations, AWritableOneGoesWithTheRight) {
    write_entry(kernel_address(slot_of_page, 0), 0x1000);
    map_annotated(slot_of_page, place(10, 0) | (preset & ~std::uint64_t{page_writable}));
    write_entry(kernel_address(slot_of_page, 0), 0x2000);
    EXPECT_TRUE(exception_is_raised());
    EXPECT_EQ(guest_entry(place(10, 0)), 0x1000U);
}

// As the program changes its tables by stores without annotation, and then flushes.
TEST_F(Translations, GoWithAFlushOfTheirPage) {
    std::uint64_t read = 0;
    guest_entry(place(10, 0)) = 10;
    guest_entry(place(11, 0)) = 11;
    for (const std::uint64_t global : {std::uint64_t{0}, std::uint64_t{page_global}}) {
        vcpu.cr4 |= cr4_pge;
        guest_entry(place(last_table, slot_of_page)) = place(10, 0) | preset | global;
        shadow_flush();
        ASSERT_TRUE(read_guest(kernel_address(slot_of_page, 0), read));
        ASSERT_EQ(read, 10U);
        guest_entry(place(last_table, slot_of_page)) = place(11, 0) | preset | global;
        shadow_invalidate(kernel_address(slot_of_page, 0));
        ASSERT_TRUE(read_guest(kernel_address(slot_of_page, 0), read));
        EXPECT_EQ(read, 11U);
        guest_entry(place(last_table, slot_of_page)) = place(10, 0) | preset | global;
        shadow_flush();
        ASSERT_TRUE(read_guest(kernel_address(slot_of_page, 0), read));
        EXPECT_EQ(read, 10U);
        vcpu.cr4 &= ~std::uint64_t{cr4_pge};
    }
}

// Any address of a large page stands for all of it.
TEST_F(Translations, OfALargePageGoTogether) {
    constexpr std::uint64_t large = kernel + large_page_bytes;
    std::uint64_t read = 0;
    guest_entry(place(512 + 3, 0)) = 1;
    guest_entry(place(3, 0)) = 2;
    guest_entry(place(3, 1)) = large_page_bytes | preset | page_large;
    shadow_flush();
    ASSERT_TRUE(read_guest(large + place(3, 0), read));
    ASSERT_EQ(read, 1U);
    guest_entry(place(3, 1)) = preset | page_large;
    shadow_invalidate(large + place(100, 0));
    ASSERT_TRUE(read_guest(large + place(3, 0), read));
    EXPECT_NE(read, 1U);
}

// CR3 is loaded with a root that maps other pages.
TEST_F(Translations, GoWithTheRootUnlessThePageIsGlobal) {
    constexpr std::uint64_t other = 20; // frames 20 to 23 are the way to other pages
    for (std::uint64_t level = 0; level < 3; ++level) {
        guest_entry(place(other + level, level == 0 ? table_index(kernel, 4) : 0)) =
            place(other + level + 1, 0) | preset;
    }
    guest_entry(place(10, 0)) = 10;
    guest_entry(place(11, 0)) = 11;
    guest_entry(place(other + 3, slot_of_page)) = place(11, 0) | preset;
    std::uint64_t read = 0;
    ASSERT_TRUE(read_guest(kernel_address(slot_of_page, 0), read));
    ASSERT_EQ(read, 10U);
    vcpu.cr3 = place(other, 0);
    load_shadow_root();
    ASSERT_TRUE(read_guest(kernel_address(slot_of_page, 0), read));
    EXPECT_EQ(read, 11U);
    // A global page without CR4.PGE is none.
    guest_entry(place(other + 3, slot_of_page)) |= page_global;
    shadow_flush();
    ASSERT_TRUE(read_guest(kernel_address(slot_of_page, 0), read));
    vcpu.cr3 = page_bytes;
    load_shadow_root();
    ASSERT_TRUE(read_guest(kernel_address(slot_of_page, 0), read));
    EXPECT_EQ(read, 10U);
}

TEST_F(Translations, AWriteSetsTheDirtyBitBehindARead) {
    map(slot_of_page, 10);
    guest_entry(place(last_table, slot_of_page)) &= ~std::uint64_t{page_dirty | page_accessed};
    std::uint64_t read = 0;
    ASSERT_TRUE(read_guest(kernel_address(slot_of_page, 0), read));
    EXPECT_EQ(guest_entry(place(last_table, slot_of_page)) & (page_dirty | page_accessed), page_accessed);
    write_entry(kernel_address(slot_of_page, 0), 0x1000);
    EXPECT_EQ(guest_entry(place(last_table, slot_of_page)) & (page_dirty | page_accessed),
              page_dirty | page_accessed);
}

TEST_F(Translations, AddressesBeyondTheCanonicalOnesFault) {
    write_entry(kernel_address(slot_of_page, 0), 0x1000);
    constexpr std::uint64_t sign = 0xffff000000000000;
    write_entry(kernel_address(slot_of_page, 0) ^ sign, 0x2000);
    EXPECT_TRUE(exception_is_raised());
    EXPECT_EQ(guest_entry(place(10, 0)), 0x1000U);
}

} // namespace

} // namespace previrt
