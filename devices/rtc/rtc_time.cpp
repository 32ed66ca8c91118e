// SPDX-License-Identifier: BSD-2-Clause
#include "devices/rtc/date.hpp"
#include "devices/rtc/rtc.hpp"
#include "devices/rtc/rtc_registers.hpp"

#include <algorithm>

// The time registers as numbers. A guest may have written values that are no time.
namespace previrt {

namespace {

constexpr std::uint32_t seconds_per_hour = 3600;
constexpr std::uint32_t seconds_per_day = 86400;

} // namespace

std::uint8_t Rtc::encode(unsigned value) const {
    const bool binary = (ram[rtc::register_b] & rtc::binary) != 0;
    return static_cast<std::uint8_t>(binary ? value : ((value / 10) << 4U) | (value % 10));
}

unsigned Rtc::decode(std::uint8_t value) const {
    const bool binary = (ram[rtc::register_b] & rtc::binary) != 0;
    return binary ? value : ((value >> 4U) * 10U) + (value & 15U);
}

std::uint8_t Rtc::encode_hour(unsigned hour) const {
    if ((ram[rtc::register_b] & rtc::hours_24) != 0) {
        return encode(hour);
    }
    const std::uint8_t half_day = encode(hour % 12 == 0 ? 12 : hour % 12);
    return static_cast<std::uint8_t>(half_day | (hour >= 12 ? rtc::hours_pm : 0));
}

unsigned Rtc::decode_hour(std::uint8_t value) const {
    if ((ram[rtc::register_b] & rtc::hours_24) != 0) {
        return std::min(decode(value), 23U);
    }
    const unsigned hour = std::min(decode(value & 0x7fU), 12U) % 12;
    return hour + ((value & rtc::hours_pm) != 0 ? 12 : 0);
}

std::uint32_t Rtc::time_of_day() const {
    return (decode_hour(ram[rtc::hours]) * seconds_per_hour) +
           (std::min(decode(ram[rtc::minutes]), 59U) * 60) + std::min(decode(ram[rtc::seconds]), 59U);
}

void Rtc::store_time_of_day(std::uint32_t seconds) {
    ram[rtc::hours] = encode_hour(seconds / seconds_per_hour);
    ram[rtc::minutes] = encode(seconds / 60 % 60);
    ram[rtc::seconds] = encode(seconds % 60);
}

void Rtc::store_date(std::uint64_t days) {
    const Date date = Date::from_days(days);
    ram[rtc::year] = encode(date.year);
    ram[rtc::month] = encode(date.month);
    ram[rtc::date_of_month] = encode(date.day);
}

// `seconds` update cycles.
void Rtc::update(std::uint64_t seconds) {
    const std::uint64_t time = time_of_day() + seconds; // some 2^34 at most
    store_time_of_day(static_cast<std::uint32_t>(time % seconds_per_day));
    const std::uint64_t days = time / seconds_per_day;
    if (days == 0) {
        return;
    }
    const unsigned weekday = std::clamp(decode(ram[rtc::day_of_week]), 1U, 7U);
    ram[rtc::day_of_week] = static_cast<std::uint8_t>(((weekday - 1 + days) % 7) + 1);
    const unsigned year = std::min(decode(ram[rtc::year]), 99U);
    const unsigned month = std::clamp(decode(ram[rtc::month]), 1U, 12U);
    const unsigned last = Date::days_in_month(year, month);
    const Date date{year, month, std::clamp(decode(ram[rtc::date_of_month]), 1U, last)};
    store_date(date.days() + days);
}

// From the last update until the update at which time and alarm are equal, 1 to a day; nullopt if they never
// are.
std::optional<std::uint64_t> Rtc::seconds_to_alarm() const {
    const auto is_any = [](std::uint8_t value) { return (value & rtc::alarm_any) == rtc::alarm_any; };
    const bool any_hour = is_any(ram[rtc::hours_alarm]);
    const bool any_minute = is_any(ram[rtc::minutes_alarm]);
    const bool any_second = is_any(ram[rtc::seconds_alarm]);
    const unsigned hour = decode_hour(ram[rtc::hours_alarm]);
    const unsigned minute = decode(ram[rtc::minutes_alarm]);
    const unsigned second = decode(ram[rtc::seconds_alarm]);
    // The chip compares bytes: a byte that no time has, as 0x5a in BCD, never matches.
    if ((!any_hour && encode_hour(hour) != ram[rtc::hours_alarm]) ||
        (!any_minute && (minute > 59 || encode(minute) != ram[rtc::minutes_alarm])) ||
        (!any_second && (second > 59 || encode(second) != ram[rtc::seconds_alarm]))) {
        return std::nullopt;
    }
    const std::uint32_t now = time_of_day();
    const std::uint32_t next = (now + 1) % seconds_per_day;
    const unsigned next_hour = next / seconds_per_hour;
    const unsigned next_minute = next / 60 % 60;
    const unsigned next_second = next % 60;
    const unsigned first_minute = any_minute ? 0 : minute;
    const unsigned first_second = any_second ? 0 : second;
    const auto until = [now](unsigned at_hour, unsigned at_minute, unsigned at_second) {
        const std::uint32_t at = (at_hour * seconds_per_hour) + (at_minute * 60) + at_second;
        return std::uint64_t{((at + seconds_per_day - now - 1) % seconds_per_day) + 1};
    };
    if (any_hour || hour == next_hour) {
        if ((any_minute || minute == next_minute) && (any_second || second >= next_second)) {
            return until(next_hour, next_minute, any_second ? next_second : second);
        }
        if (any_minute && next_minute < 59) {
            return until(next_hour, next_minute + 1, first_second);
        }
        if (!any_minute && minute > next_minute) {
            return until(next_hour, minute, first_second);
        }
    }
    return until(any_hour ? (next_hour + 1) % 24 : hour, first_minute, first_second);
}

} // namespace previrt
