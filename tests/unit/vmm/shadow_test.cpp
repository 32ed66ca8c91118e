// SPDX-License-Identifier: BSD-2-Clause
// Random guest page tables and random operations on them, against the manual's walk.
#include "tests/unit/vmm/fake_backend.hpp"
#include "tests/unit/vmm/guest_tables.hpp"

#include "inplace-vmm/counters.hpp"

#include <gtest/gtest.h>

namespace previrt {

namespace {

constexpr unsigned seeds = 3;
constexpr unsigned steps = 1000;

void run(RandomGuest::Options options, unsigned first_seed = 1) {
    for (unsigned seed = first_seed; seed < first_seed + seeds; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomGuest guest(seed, options);
        for (unsigned step = 0; step < steps; ++step) {
            SCOPED_TRACE("step " + std::to_string(step));
            guest.step();
            if (testing::Test::HasFatalFailure()) {
                return;
            }
        }
        guest.flush();
        RandomGuest::check();
        EXPECT_GT(guest.accesses_done(), 50U);
        EXPECT_GT(guest.accesses_refused(), 50U);
        EXPECT_GT(counters.unannotated_writes, 0U);
        if (options.replaces_pages) {
            EXPECT_GT(guest.replacements(), 5U);
            EXPECT_GT(RandomGuest::replacements_ended(), 0U);
        }
        guest.end();
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
