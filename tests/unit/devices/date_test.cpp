// SPDX-License-Identifier: BSD-2-Clause
#include "devices/rtc/date.hpp"

#include <chrono>
#include <gtest/gtest.h>

namespace previrt {
namespace {

TEST(Date, AgreesWithTheStandardLibraryOnEveryDayOfTheCentury) {
    const std::chrono::sys_days first = std::chrono::year{2000} / 1 / 1;
    for (std::uint32_t day = 0; day < Date::days_in_century; ++day) {
        const std::chrono::year_month_day expected(first + std::chrono::days(day));
        const Date date = Date::from_days(day);
        ASSERT_EQ(date.year, static_cast<unsigned>(static_cast<int>(expected.year()) - 2000)) << day;
        ASSERT_EQ(date.month, static_cast<unsigned>(expected.month())) << day;
        ASSERT_EQ(date.day, static_cast<unsigned>(expected.day())) << day;
        ASSERT_EQ(date.days(), day);
    }
}

TEST(Date, TheCenturyBeginsAgain) {
    const Date date = Date::from_days(Date::days_in_century);
    EXPECT_EQ(date.year, 0U);
    EXPECT_EQ(date.month, 1U);
    EXPECT_EQ(date.day, 1U);
}

} // namespace
} // namespace previrt
