// SPDX-License-Identifier: BSD-2-Clause
// Time by counters of any speed: the monitor's and the VMM's must be the same.
#include "inplace-vmm/processor.hpp"
#include "monitor/kvm/privileged/guest_clock.hpp"

#include <gtest/gtest.h>
#include <initializer_list>

namespace previrt {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::initializer_list<std::uint64_t> speeds = {1,       32,        1000,      100'000,   999'999,
                                                         1000000, 1'000'001, 2'099'998, 2'995'200, 5'000'000};
constexpr std::uint64_t decade = 10ULL * 366 * 24 * 3600 * 1'000'000'000;

std::uint64_t ticks_of(std::uint64_t nanoseconds, std::uint64_t khz) {
    return static_cast<std::uint64_t>(Wide{nanoseconds} * khz / 1'000'000);
}

TEST(TickScale, IsExactWhereItCanBe) {
    EXPECT_EQ(TickScale(1'000'000).nanoseconds(decade), decade);
    EXPECT_EQ(TickScale(500'000).nanoseconds(decade / 2), decade);
    EXPECT_EQ(TickScale(1000).nanoseconds(decade / 1000), decade);
    EXPECT_EQ(TickScale(2'000'000).nanoseconds(decade), decade / 2);
    EXPECT_EQ(TickScale(1).nanoseconds(3), 3'000'000U);
}

TEST(TickScale, IsShortByLessThanOneInAHundredMillion) {
    for (const std::uint64_t khz : speeds) {
        const TickScale scale(khz);
        for (std::uint64_t time = 1; time < decade; time *= 7) {
            const std::uint64_t ticks = ticks_of(time, khz);
            const auto exact = static_cast<std::uint64_t>(Wide{ticks} * 1'000'000 / khz);
            const std::uint64_t computed = scale.nanoseconds(ticks);
            EXPECT_LE(computed, exact) << khz;
            EXPECT_LE(exact - computed, (exact / 100'000'000) + 1) << khz;
        }
    }
}

TEST(TickScale, NeverGoesBack) {
    for (const std::uint64_t khz : speeds) {
        const TickScale scale(khz);
        std::uint64_t before = 0;
        for (std::uint64_t ticks = 0; ticks < 10'000; ++ticks) {
            ASSERT_GE(scale.nanoseconds(ticks), before) << khz;
            before = scale.nanoseconds(ticks);
        }
        for (const std::uint64_t ticks : {ticks_of(decade / 2, khz), ticks_of(decade, khz)}) {
            EXPECT_GT(scale.nanoseconds(ticks), before) << khz;
            before = scale.nanoseconds(ticks);
        }
    }
}

TEST(TickScale, IsTheVmms) {
    for (const std::uint64_t khz : speeds) {
        const std::uint64_t nanoseconds_per_tick = (std::uint64_t{1} << 32U) * 1'000'000 / khz;
        for (std::uint64_t ticks = 1; ticks < ticks_of(decade, khz); ticks = (ticks * 3) + 1) {
            EXPECT_EQ(TickScale(khz).nanoseconds(ticks),
                      processor::multiply_and_shift_32(ticks, nanoseconds_per_tick))
                << khz;
        }
    }
}

} // namespace

} // namespace previrt
