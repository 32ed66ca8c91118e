// SPDX-License-Identifier: BSD-2-Clause
// What a guest in processes may take of this machine, and who looks.
#include "host/input_error.hpp"
#include "monitor/process/bounds/guest_bounds.hpp"
#include "monitor/process/bounds/guest_processes.hpp"
#include "monitor/process/bounds/watch_rules.hpp"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace previrt {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr std::uint64_t gib = std::uint64_t{1} << 30U;
constexpr std::uint64_t usual_mappings = 65530;

TEST(GuestBounds, AreThoseOfTheDocument) {
    const GuestBounds small = bound_guest(64 * mib, 1, usual_mappings);
    EXPECT_EQ(small.processes, 16U);
    EXPECT_EQ(small.page_tables, 160 * mib);
    EXPECT_EQ(small.of_process / mib, 18U);
    EXPECT_EQ(overhead_of(small), (160 * mib) + (16 * (mib + (usual_mappings * 288))));
    const GuestBounds usual = bound_guest(256 * mib, 1, usual_mappings);
    EXPECT_EQ(usual.processes, 64U);
    EXPECT_EQ(usual.page_tables, 256 * mib);
    const GuestBounds large = bound_guest(256 * gib, 1, usual_mappings);
    EXPECT_EQ(large.processes, 128U);
    EXPECT_EQ(large.page_tables, (128 * gib) + (128 * mib));
}

// Each process with tables for all of the RAM.
TEST(GuestBounds, HaveRoomForEachProcessesMapOfAllMemory) {
    for (std::uint64_t memory = 16 * mib; memory <= 256 * gib; memory *= 2) {
        const GuestBounds bounds = bound_guest(memory, 1, usual_mappings);
        EXPECT_LT(bounds.processes * (memory / 512), (bounds.page_tables / 2) + 1) << memory;
    }
}

TEST(GuestBounds, FollowTheMachinesLimit) {
    EXPECT_GT(read_most_mappings(), 1000U);
    EXPECT_GT(overhead_of(bound_guest(64 * mib, 1, 1U << 20U)),
              overhead_of(bound_guest(64 * mib, 1, usual_mappings)));
    EXPECT_EQ(bound_guest(64 * mib, 1, usual_mappings).ranges, 49148);
    EXPECT_EQ(bound_guest(64 * mib, 1, 1U << 20U).ranges, 3U << 18U);
}

class Rules : public testing::Test {
protected:
    Verdict look(std::chrono::nanoseconds time, std::chrono::nanoseconds used,
                 std::uint64_t page_tables = 0) {
        return rules_.judge({.time = time, .processor_time = used, .page_tables = page_tables});
    }
    [[nodiscard]] std::chrono::nanoseconds wait() const { return rules_.wait(); }
    [[nodiscard]] const GuestBounds& bounds() const { return bounds_; }

private:
    GuestBounds bounds_ = bound_guest(64 * mib, 1, usual_mappings);
    WatchRules rules_{bounds_};
};

TEST_F(Rules, MoreThanTheBoundIsTooMuch) {
    EXPECT_EQ(look(0s, 0s, bounds().page_tables), Verdict::within_bounds);
    EXPECT_EQ(look(1ms, 1ms, bounds().page_tables + 1), Verdict::too_much_memory);
}

TEST_F(Rules, OneProcessorMayBeUsedAtAllTimes) {
    for (std::chrono::milliseconds time = 0ms; time < 3s; time += 10ms) {
        EXPECT_EQ(look(time, time), Verdict::within_bounds);
    }
}

TEST_F(Rules, TwoMayNot) {
    unsigned several = 0;
    for (std::chrono::milliseconds time = 0ms; time < 1s; time += 10ms) {
        several += look(time, 2 * time) == Verdict::several_at_once ? 1 : 0;
    }
    EXPECT_EQ(several, 3U); // once in 250 ms
}

TEST(RulesForSeveralProcessors, AsManyMayBeUsed) {
    const GuestBounds bounds = bound_guest(64 * mib, 2, usual_mappings);
    WatchRules two(bounds);
    WatchRules three(bounds);
    unsigned several = 0;
    for (std::chrono::milliseconds time = 0ms; time < 1s; time += 10ms) {
        EXPECT_EQ(two.judge({.time = time, .processor_time = 2 * time, .page_tables = 0}),
                  Verdict::within_bounds);
        several += three.judge({.time = time, .processor_time = 3 * time, .page_tables = 0}) ==
                           Verdict::several_at_once
                       ? 1
                       : 0;
    }
    EXPECT_EQ(several, 3U);
}

// With --isolate each system call of a program changes the process, on each processor.
TEST(RulesForSeveralProcessors, EachMayChangeItsProcessIfUserModeHasItsOwn) {
    WatchRules own(bound_guest(64 * mib, 4, usual_mappings, true));
    WatchRules five(bound_guest(64 * mib, 4, usual_mappings, false));
    WatchRules seven(bound_guest(64 * mib, 4, usual_mappings, true));
    unsigned several_of_five = 0;
    unsigned several_of_seven = 0;
    for (std::chrono::milliseconds time = 0ms; time < 1s; time += 10ms) {
        EXPECT_EQ(own.judge({.time = time, .processor_time = 5 * time, .page_tables = 0}),
                  Verdict::within_bounds);
        const auto is_several = [&](WatchRules& rules, unsigned times) {
            return rules.judge({.time = time, .processor_time = times * time, .page_tables = 0}) ==
                   Verdict::several_at_once;
        };
        several_of_five += is_several(five, 5) ? 1 : 0;
        several_of_seven += is_several(seven, 7) ? 1 : 0;
    }
    EXPECT_EQ(several_of_five, 3U);
    EXPECT_EQ(several_of_seven, 3U);
}

TEST(GuestBounds, EachProcessorHasATemplateForUserMode) {
    EXPECT_EQ(bound_guest(64 * mib, 1, usual_mappings, true).processes, 33U);
    EXPECT_EQ(bound_guest(64 * mib, 4, usual_mappings, true).processes, 36U);
    EXPECT_EQ(bound_guest(64 * mib, 64, usual_mappings, true).processes, 320U);
}

TEST(GuestBounds, EachProcessorHasTwoProcesses) {
    EXPECT_EQ(bound_guest(64 * mib, 4, usual_mappings).hosts, 16U);
    EXPECT_EQ(bound_guest(64 * mib, 64, usual_mappings).hosts, 128U);
}

TEST_F(Rules, TwoMayForAMoment) {
    EXPECT_EQ(look(0s, 0s), Verdict::within_bounds);
    EXPECT_EQ(look(50ms, 100ms), Verdict::within_bounds);
    EXPECT_EQ(look(300ms, 350ms), Verdict::within_bounds);
}

TEST_F(Rules, AGuestThatSleepsIsSeldomLookedAt) {
    EXPECT_LE(wait(), 100ms);
    look(0s, 0s);
    look(1s, 1ms);
    EXPECT_GE(wait(), 1s);
    look(2s, 101ms);
    EXPECT_LE(wait(), 100ms);
}

// ---- what /proc tells

TEST(PageTables, AreRead) {
    EXPECT_EQ(page_tables_in("Name:\tx\nVmPTE:\t     112 kB\nVmSwap:\t       0 kB\n"), 112U << 10U);
    EXPECT_THROW((void)page_tables_in(""), InputError);
    EXPECT_THROW((void)page_tables_in("VmPTE:\t"), InputError);
    EXPECT_THROW((void)page_tables_in("VmPTE:\tmany\n"), InputError);
}

Descriptor open_proc() {
    return Descriptor(open("/proc", O_PATH | O_CLOEXEC));
}

TEST(GuestProcesses, AreTheKeepersChildren) {
    constexpr int signal = 40;
    const pid_t child = fork();
    if (child == 0) {
        for (;;) {
            getppid();
        }
    }
    GuestProcesses processes(open_proc(), getpid(), signal, 10s);
    const Look first = processes.look();
    EXPECT_GT(first.page_tables, 4096U);
    Look later = first;
    while (later.processor_time <= first.processor_time) {
        later = processes.look();
    }
    EXPECT_GT(later.time, first.time);
    EXPECT_FALSE(processes.lacks_timers());
    processes.keep_on_one_processor();
    cpu_set_t allowed;
    EXPECT_EQ(sched_getaffinity(child, sizeof allowed, &allowed), 0);
    EXPECT_EQ(CPU_COUNT(&allowed), 1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_GE(processes.look().processor_time, later.processor_time); // it ended, and nothing is lost
}

TEST(GuestProcesses, ThatAreNotShownAreRefused) {
    EXPECT_THROW(GuestProcesses(Descriptor(open("/", O_PATH | O_CLOEXEC)), getpid(), 40, 1s), InputError);
}

} // namespace

} // namespace previrt
