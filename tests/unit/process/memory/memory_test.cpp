// SPDX-License-Identifier: BSD-2-Clause
// Random page tables of a guest in host processes, and a host that refuses, against the guest's own tables.
#include "tests/unit/process/memory/own_process.hpp"
#include "tests/unit/process/memory/process_guest.hpp"
#include "tests/unit/vmm/random_run.hpp"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <gtest/gtest.h>

namespace previrt {

namespace {

constexpr unsigned seeds = 2;
constexpr std::uint64_t usual_steps = 60'000;

void run_guest(std::uint32_t seed, std::uint64_t steps, const ProcessGuest::Options& options) {
    ProcessGuest guest(seed, options);
    if (!take_steps(guest, steps)) {
        return;
    }
    EXPECT_GT(guest.accesses_done(), steps / 20);
    EXPECT_GT(guest.accesses_refused(), steps / 20);
    if (options.place.rewrites_user_calls) {
        EXPECT_GT(guest.code_pages_copied(), 0U);
    }
    std::printf("seed %u: %" PRIu64 " steps, %" PRIu64 " accesses, %" PRIu64 " refused, %" PRIu64
                " pages of code copied, at most %" PRIu64 " ranges\n",
                seed, steps, guest.accesses_done(), guest.accesses_refused(), guest.code_pages_copied(),
                guest.most_ranges_seen());
}

void run(const ProcessGuest::Options& options) {
    const RandomRun how = random_run(seeds, usual_steps);
    for (std::uint32_t seed = how.first_seed; seed - how.first_seed < how.seeds; ++seed) {
        EXPECT_EQ(in_own_process([&] { run_guest(seed, how.steps, options); }), 0)
            << "again: PREVIRT_SEED=" << seed;
    }
}

TEST(ProcessMemory, FollowsTheGuest) {
    run({});
}

TEST(ProcessMemory, FollowsTheGuestInFewProcesses) {
    run({.place = {.most_hosts = 3}});
}

TEST(ProcessMemory, FollowsTheGuestWithATinyPool) {
    run({.tables = 40, .place = {.most_hosts = 4}});
}

TEST(ProcessMemory, MeaningOfEntriesChanges) {
    run({.toggles = true});
}

TEST(ProcessMemory, EntriesAboveTakeRightsAway) {
    run({.restricts_above = true});
}

TEST(ProcessMemory, TablesAreShared) {
    run({.shares_tables = true});
}

TEST(ProcessMemory, CodeIsCopied) {
    run({.place = {.rewrites_user_calls = true}});
}

TEST(ProcessMemory, FewRanges) {
    run({.place = {.most_ranges = 30}, .limits = {.most_ranges = 40}});
}

TEST(ProcessMemory, FewestRanges) {
    run({.place = {.most_ranges = 8}, .limits = {.most_ranges = 24}});
}

// The map of RAM alone has two more ranges for each copy.
constexpr std::uint64_t ranges_with_copies = 140;

TEST(ProcessMemory, CodeIsCopiedInFewRanges) {
    run({.place = {.most_ranges = 8, .rewrites_user_calls = true},
         .limits = {.most_ranges = ranges_with_copies}});
}

TEST(ProcessMemory, TheHostRefuses) {
    run({.place = {.most_ranges = 40}, .limits = {.most_ranges = 60, .failures_in_a_thousand = 20}});
}

TEST(ProcessMemory, FollowsTheGuestOnTwoProcessors) {
    run({.place = {.processors = 2}});
}

TEST(ProcessMemory, FollowsTheGuestOnFourProcessorsInFewProcesses) {
    run({.tables = 60,
         .place = {.most_ranges = 30, .most_hosts = 10, .rewrites_user_calls = true, .processors = 4},
         .limits = {.most_ranges = ranges_with_copies, .failures_in_a_thousand = 5},
         .shares_tables = true});
}

TEST(ProcessMemory, UserModeIsIsolated) {
    run({.place = {.isolates = true}});
}

TEST(ProcessMemory, UserModeIsIsolatedOnTwoProcessors) {
    run({.place = {.isolates = true, .processors = 2}});
}

TEST(ProcessMemory, UserModeIsIsolatedOnFourProcessorsInFewProcesses) {
    run({.tables = 60,
         .place = {.most_ranges = 30,
                   .most_hosts = 10,
                   .isolates = true,
                   .rewrites_user_calls = true,
                   .processors = 4},
         .limits = {.most_ranges = ranges_with_copies, .failures_in_a_thousand = 5},
         .shares_tables = true});
}

TEST(ProcessMemory, UserModeIsIsolatedInFewRanges) {
    run({.tables = 60,
         .place = {.most_ranges = 30, .most_hosts = 3, .isolates = true, .rewrites_user_calls = true},
         .limits = {.most_ranges = ranges_with_copies, .failures_in_a_thousand = 5},
         .toggles = true});
}

} // namespace

} // namespace previrt
