// SPDX-License-Identifier: BSD-2-Clause
// Random guest page tables and random operations on them, against the manual's walk.
#include "tests/unit/vmm/fake_backend.hpp"
#include "tests/unit/vmm/guest_tables.hpp"
#include "tests/unit/vmm/guest_view.hpp"
#include "tests/unit/vmm/random_run.hpp"

#include "frontends/x86/machine_state.hpp"
#include "frontends/x86/paging/page_walk.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <gtest/gtest.h>

namespace previrt {

namespace {

constexpr unsigned seeds = 3;
constexpr std::uint64_t usual_steps = 25'000;
constexpr std::uint32_t enough_tables = 100; // with fewer, some are evicted

void run(RandomGuest::Options options) {
    const RandomRun how = random_run(seeds, usual_steps);
    std::uint64_t evicted = 0;
    for (std::uint32_t seed = how.first_seed; seed - how.first_seed < how.seeds; ++seed) {
        SCOPED_TRACE("again: PREVIRT_SEED=" + std::to_string(seed));
        RandomGuest guest(seed, options);
        if (!take_steps(guest, how.steps)) {
            return;
        }
        EXPECT_GT(guest.accesses_done(), 50U);
        EXPECT_GT(guest.accesses_refused(), 50U);
        EXPECT_GT(counters.unannotated_writes, 0U);
        if (options.replaces_pages) {
            EXPECT_GT(guest.replacements(), 5U);
            EXPECT_GT(RandomGuest::replacements_ended(), 0U);
        }
        evicted += counters.tables_evicted;
        guest.end();
    }
    if (options.tables < enough_tables) {
        EXPECT_GT(evicted, 5U);
    }
}

TEST(Shadow, FollowsTheGuest) {
    run({});
}

TEST(Shadow, FollowsTheGuestWithALargeDirectMap) {
    run({.large_direct_map = true});
}

TEST(Shadow, SupervisorWritesAnywhereWithoutWriteProtect) {
    run({.write_protect = false});
}

TEST(Shadow, MeaningOfEntriesChanges) {
    run({.toggles = true});
}

TEST(Shadow, FramesAreTablesOfEveryLevel) {
    run({.any_level = true});
}

TEST(Shadow, SmallPool) {
    run({.tables = 110});
}

TEST(Shadow, TinyPool) {
    run({.tables = 32});
}

TEST(Shadow, TinyPoolWithALargeDirectMap) {
    run({.tables = 32, .large_direct_map = true, .toggles = true});
}

TEST(Shadow, TinyPoolOfTablesOfEveryLevel) {
    run({.tables = 32, .any_level = true});
}

TEST(Shadow, PagesAreReplacedInATinyPool) {
    run({.tables = 32, .toggles = true, .replaces_pages = true});
}

// One root, whose tables are far more than the pool holds.
TEST(Shadow, OneAddressSpaceTakesItsTurns) {
    constexpr std::uint32_t pool = 40;
    constexpr std::uint64_t regions = 400;
    constexpr std::uint64_t kernel_page = 0xffff900000000000;
    constexpr std::uint64_t preset = page_present | page_writable | page_user | page_accessed | page_dirty;
    fake::start(RandomGuest::ram_bytes, pool);
    enter_long_mode();
    const auto entry = [](std::uint64_t frame, std::uint64_t index) -> std::uint64_t& {
        return guest_entry((frame * page_bytes) + (index * 8));
    };
    entry(1, 0) = (2 * page_bytes) | preset;
    entry(2, 0) = (3 * page_bytes) | preset;
    const auto leaf = [&](std::uint64_t region) -> std::uint64_t& { return entry(100 + region, region); };
    for (std::uint64_t region = 0; region < regions; ++region) {
        entry(3, region) = ((100 + region) * page_bytes) | preset;
        leaf(region) = ((1000 + region) * page_bytes) | page_present | page_writable | page_user;
    }
    entry(1, table_index(kernel_page, 4)) = (4 * page_bytes) | preset;
    entry(4, 0) = (5 * page_bytes) | preset;
    entry(5, 0) = (6 * page_bytes) | preset;
    entry(6, 0) = (7 * page_bytes) | (preset & ~std::uint64_t{page_user});
    vcpu.cr3 = page_bytes;
    load_shadow_root();
    for (unsigned turn = 0; turn < 3; ++turn) {
        const Access access{.write = turn == 1, .user = true};
        for (std::uint64_t i = 0; i < regions; ++i) {
            const std::uint64_t region = i * (turn == 2 ? 77 : 1) % regions;
            const std::uint64_t address = (region * large_page_bytes) + (region * page_bytes);
            fake::Translated found = fake::access(address, access);
            if (found.result == fake::Translation::faulted) {
                backend::flush_entries();
                ASSERT_EQ(shadow_fault(address, access).verdict, FaultVerdict::hidden);
                found = fake::access(address, access);
            }
            ASSERT_EQ(found.result, fake::Translation::done) << region;
            ASSERT_EQ(found.physical, (1000 + region) * page_bytes);
            ASSERT_EQ((leaf(region) & page_dirty) != 0, turn > 0) << region;
            ASSERT_EQ(fake::look(kernel_page, {.write = true}).result, fake::Translation::done)
                << "the kernel's tables are the last to go";
            fake::check_tables();
        }
    }
    EXPECT_GT(counters.tables_evicted, 500U);
    // What was evicted is forgotten: no entry outlives the guest's.
    for (std::uint64_t region = 0; region < regions; ++region) {
        leaf(region) = 0;
        shadow_entry_written(((100 + region) * page_bytes) + (region * 8), 0, 1);
    }
    shadow_flush();
    for (std::uint64_t region = 0; region < regions; ++region) {
        const std::uint64_t address = (region * large_page_bytes) + (region * page_bytes);
        ASSERT_EQ(fake::access(address, {.user = true}).result, fake::Translation::faulted) << region;
    }
}

// The guest has freed a root, and its page is data now. The search for the kernel's root passes it over.
TEST(Shadow, AFreedRootLeadsNowhere) {
    constexpr std::uint64_t reserved = 0x78400000;
    constexpr std::uint64_t preset = page_present | page_writable | page_accessed | page_dirty;
    fake::start(RandomGuest::ram_bytes, 100);
    enter_long_mode();
    machine_state.kernel.reserved = {.first = reserved, .bytes = large_page_bytes};
    const auto entry = [](std::uint64_t frame, std::uint64_t index) -> std::uint64_t& {
        return guest_entry((frame * page_bytes) + (index * 8));
    };
    const auto load = [](std::uint64_t frame) {
        vcpu.cr3 = frame * page_bytes;
        load_shadow_root();
    };
    // Roots: 1 is freed, 2 is the kernel's, 3 is in force.
    for (const std::uint64_t root : {1U, 2U, 3U}) {
        load(root);
    }
    entry(1, 0) = (2 * RandomGuest::ram_bytes) | preset;
    EXPECT_EQ(shadow_fault(reserved, {.write = true}).verdict, FaultVerdict::guest);
    entry(2, 0) = (4 * page_bytes) | preset;
    entry(4, table_index(reserved, 3)) = (5 * page_bytes) | preset;
    entry(5, table_index(reserved, 2)) = (6 * page_bytes) | preset;
    entry(6, table_index(reserved, 1)) = (7 * page_bytes) | preset;
    EXPECT_EQ(shadow_fault(reserved, {.write = true}).verdict, FaultVerdict::hidden);
    EXPECT_EQ(root_of(reserved), 2 * page_bytes);
    machine_state.kernel = {};
}

TEST(Shadow, PagesAreReplaced) {
    run({.replaces_pages = true});
}

TEST(Shadow, PagesAreReplacedWithALargeDirectMap) {
    run({.large_direct_map = true, .replaces_pages = true});
}

TEST(Shadow, PagesAreReplacedWithLittleRoom) {
    run({.tables = 110, .toggles = true, .replaces_pages = true});
}

} // namespace

} // namespace previrt
