// SPDX-License-Identifier: BSD-2-Clause
// Page tables that can hold the VMM, and those that cannot.
#include "monitor/kvm/privileged/last_directory.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace previrt {

namespace {

constexpr std::uint64_t page_size = 4096;
constexpr std::uint64_t last = 511;
constexpr std::uint64_t root = 1;
constexpr std::uint64_t pointers = 5;
constexpr std::uint64_t directory = 3;
constexpr std::uint64_t pages = 8;
constexpr unsigned map_tables = 5;
constexpr std::uint64_t table = 0x67;
constexpr std::uint64_t large = 0x80;

// As Linux's tables are. The pages are exactly what a sanitizer lets one read.
class LastDirectory : public testing::Test {
protected:
    void SetUp() override {
        state.cr0 = 0x80050033;
        state.cr3 = root * page_size;
        state.cr4 = 0x20;
        state.efer = 0xd01;
        set_entry(root, last, (pointers * page_size) | table);
        set_entry(pointers, last, (directory * page_size) | table);
        for (const std::uint64_t page : {root, pointers, directory}) {
            set_entry(page, last - 1, 0x1063); // which is nobody's affair
        }
    }

    void set_entry(std::uint64_t page, std::uint64_t index, std::uint64_t entry) {
        std::memcpy(&ram.at((page * page_size) + (index * sizeof entry)), &entry, sizeof entry);
    }

    [[nodiscard]] bool has_room() const { return last_directory_has_room(ram, state, map_tables); }

    std::vector<std::uint8_t> ram = std::vector<std::uint8_t>(pages * page_size);
    kvm_sregs state{};
};

TEST_F(LastDirectory, OfLinuxHasRoom) {
    EXPECT_TRUE(has_room());
    state.cr3 |= 0x8000000000000fff; // a process context, and that it is kept
    EXPECT_TRUE(has_room());
    set_entry(root, last, (pointers * page_size) | table | 0xfff0000000000000); // no address
    EXPECT_TRUE(has_room());
}

TEST_F(LastDirectory, ThatIsAbsentHasNone) {
    set_entry(root, last, (pointers * page_size) | (table & ~1U));
    EXPECT_FALSE(has_room());
    set_entry(root, last, (pointers * page_size) | table);
    set_entry(pointers, last, (directory * page_size) | (table & ~1U));
    EXPECT_FALSE(has_room());
    set_entry(pointers, last, 0);
    EXPECT_FALSE(has_room());
}

TEST_F(LastDirectory, ThatIsALargePageHasNone) {
    set_entry(root, last, (pointers * page_size) | table | large);
    EXPECT_FALSE(has_room());
    set_entry(root, last, (pointers * page_size) | table);
    set_entry(pointers, last, (directory * page_size) | table | large);
    EXPECT_FALSE(has_room());
}

TEST_F(LastDirectory, ThatIsInUseHasNone) {
    // A table, a large page, and what Linux keeps in an entry that is not present.
    for (const std::uint64_t entry : {0x2067U, 0x1e3U, 0x1000U, 0x2U}) {
        set_entry(directory, last, entry);
        EXPECT_FALSE(has_room()) << entry;
    }
    set_entry(directory, last, 0);
    EXPECT_TRUE(has_room());
}

// Above it, for the map of all memory.
TEST_F(LastDirectory, NeedsTheFirstEntriesOfTheTableAbove) {
    for (std::uint64_t index = 0; index < map_tables; ++index) {
        for (const std::uint64_t entry : {0x2067U, 0x1e3U, 0x1000U, 0x2U}) {
            set_entry(pointers, index, entry);
            EXPECT_FALSE(has_room()) << index;
        }
        set_entry(pointers, index, 0);
    }
    set_entry(pointers, map_tables, 0x2067);
    EXPECT_TRUE(has_room());
}

TEST_F(LastDirectory, NeedsPagesThatAreNotExecutable) {
    state.efer &= ~std::uint64_t{0x800};
    EXPECT_FALSE(has_room());
}

TEST_F(LastDirectory, NeedsFourLevels) {
    state.cr0 &= ~(std::uint64_t{1} << 31U);
    EXPECT_FALSE(has_room());
    state.cr0 |= std::uint64_t{1} << 31U;
    state.efer &= ~std::uint64_t{0x400};
    EXPECT_FALSE(has_room());
    state.efer |= 0x400;
    state.cr4 |= 0x1000;
    EXPECT_FALSE(has_room());
    state.cr4 &= ~std::uint64_t{0x1000};
    EXPECT_TRUE(has_room());
}

TEST_F(LastDirectory, MayBeTheLastPageOfMemory) {
    set_entry(pointers, last, ((pages - 1) * page_size) | table);
    EXPECT_TRUE(has_room());
    // Its last entry is cut off, or a part of it.
    for (const std::uint64_t missing : {1U, 7U, 8U, 9U, 4095U, 4096U}) {
        const std::vector<std::uint8_t> less(ram.begin(), ram.end() - static_cast<std::ptrdiff_t>(missing));
        EXPECT_FALSE(last_directory_has_room(less, state, map_tables)) << missing;
    }
    EXPECT_FALSE(last_directory_has_room({}, state, map_tables));
}

TEST_F(LastDirectory, OutsideMemoryIsNotRead) {
    for (const std::uint64_t address :
         {pages * page_size, (pages * page_size) + page_size, std::uint64_t{1} << 32U,
          std::uint64_t{1} << 51U, ~std::uint64_t{0}, ~std::uint64_t{0} << 12U, 0x000ffffffffff000UL}) {
        state.cr3 = address;
        EXPECT_FALSE(has_room()) << address;
        state.cr3 = root * page_size;
        // Present, and no large page, whatever else.
        set_entry(root, last, (address | 1U) & ~large);
        EXPECT_FALSE(has_room()) << address;
        set_entry(root, last, (pointers * page_size) | table);
        set_entry(pointers, last, (address | 1U) & ~large);
        EXPECT_FALSE(has_room()) << address;
        set_entry(pointers, last, (directory * page_size) | table);
        EXPECT_TRUE(has_room());
    }
}

// Tables in a circle are but three levels of them, and any bytes may be tables.
TEST_F(LastDirectory, OfAnyBytesIsLookedFor) {
    set_entry(root, last, (root * page_size) | table);
    EXPECT_FALSE(has_room());
    std::mt19937_64 random(1);
    const auto any_entry = [&random] {
        switch (random() % 4) {
        case 0:
            return std::uint64_t{0};
        case 1:
            return std::uint64_t{random() >> (random() % 64)};
        default:
            return std::uint64_t{random() % (pages * page_size)};
        }
    };
    unsigned found = 0;
    for (unsigned i = 0; i < 10'000; ++i) {
        for (std::uint64_t page = 0; page < pages; ++page) {
            set_entry(page, last, any_entry());
        }
        state.cr3 = any_entry();
        if (has_room()) {
            EXPECT_LT(state.cr3 & 0x000ffffffffff000, ram.size());
            ++found;
        }
    }
    EXPECT_GT(found, 0U);
}

} // namespace

} // namespace previrt
