// SPDX-License-Identifier: BSD-2-Clause
#include "devices/platform/oscillator.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace previrt {
namespace {

using Pit = Oscillator<1'193'182>;
using Watch = Oscillator<32768>;

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t century = std::uint64_t{36525} * 86400 * second;

TEST(Oscillator, CountsWholeCycles) {
    EXPECT_EQ(Pit::cycles(0), 0U);
    EXPECT_EQ(Pit::cycles(838), 0U); // a cycle lasts 838.095 ns
    EXPECT_EQ(Pit::cycles(839), 1U);
    EXPECT_EQ(Pit::cycles(second - 1), 1'193'181U);
    EXPECT_EQ(Pit::cycles(second), 1'193'182U);
    EXPECT_EQ(Watch::cycles(second / 2), 16384U);
}

TEST(Oscillator, StaysExactForACentury) {
    EXPECT_EQ(Pit::cycles(century), century / second * 1'193'182);
    EXPECT_EQ(Pit::cycles(century + 838), Pit::cycles(century));
    EXPECT_EQ(Pit::cycles(century + 839), Pit::cycles(century) + 1);
}

TEST(Oscillator, ATimeIsTheFirstWithItsCycle) {
    for (const std::uint64_t start : {std::uint64_t{0}, century}) {
        const std::uint64_t first = Pit::cycles(start) + 1;
        for (std::uint64_t cycle = first; cycle < first + 5000; ++cycle) {
            const std::uint64_t time = Pit::time_of(cycle).value();
            ASSERT_EQ(Pit::cycles(time), cycle);
            ASSERT_EQ(Pit::cycles(time - 1), cycle - 1);
        }
    }
    EXPECT_EQ(Pit::time_of(1'193'182), second);
}

TEST(Oscillator, HasNoTimeBeyondItsEnd) {
    constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t cycles = Pit::cycles(last);
    EXPECT_TRUE(Pit::time_of(cycles).has_value());
    EXPECT_LE(Pit::time_of(cycles).value(), last);
    EXPECT_FALSE(Pit::time_of(cycles + 1).has_value());
    EXPECT_FALSE(Pit::time_of(last).has_value());
}

} // namespace
} // namespace previrt
