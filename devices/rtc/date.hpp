// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// A day of the MC146818: a year of two digits, leap if divisible by 4. Year 0 begins on day 0.
struct Date {
    std::uint32_t year;  // 0 to 99
    std::uint32_t month; // 1 to 12
    std::uint32_t day;   // 1 to 31

    static constexpr std::uint32_t days_in_century = 36525;
    static constexpr std::uint32_t days_in_4_years = 1461;

    static constexpr std::uint32_t days_in_month(std::uint32_t year, std::uint32_t month) {
        if (month == 2) {
            return year % 4 == 0 ? 29 : 28;
        }
        return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
    }

    // `days` is taken modulo the century.
    static constexpr Date from_days(std::uint64_t days) {
        const auto day = static_cast<std::uint32_t>(days % days_in_century);
        std::uint32_t rest = day % days_in_4_years;
        Date date{(day / days_in_4_years) * 4, 1, 1};
        if (rest >= 366) {
            date.year += 1 + ((rest - 366) / 365);
            rest = (rest - 366) % 365;
        }
        while (rest >= days_in_month(date.year, date.month)) {
            rest -= days_in_month(date.year, date.month);
            ++date.month;
        }
        date.day += rest;
        return date;
    }

    [[nodiscard]] constexpr std::uint32_t days() const {
        std::uint32_t days = (year * 365) + ((year + 3) / 4) + day - 1;
        for (std::uint32_t earlier = 1; earlier < month; ++earlier) {
            days += days_in_month(year, earlier);
        }
        return days;
    }
};

} // namespace previrt
