// SPDX-License-Identifier: BSD-2-Clause
#include "devices/rtc/date.hpp"
#include "devices/rtc/rtc.hpp"
#include "devices/rtc/rtc_registers.hpp"

#include <algorithm>

// The values that firmware writes before the guest runs.
namespace previrt {

void Rtc::start(std::uint64_t since_1970, std::uint64_t now) {
    const std::uint64_t epoch_seconds = since_1970 / Clock::second;
    settled = Clock::cycles(now);
    next_update = settled + Clock::cycles(Clock::second) - Clock::cycles(since_1970 % Clock::second);
    ram[rtc::register_a] = rtc::divider_32768 | 6; // 1024 Hz
    ram[rtc::register_b] = rtc::hours_24;
    ram[rtc::register_c] = 0;
    ram[rtc::register_d] = rtc::valid_ram_and_time;
    constexpr std::uint64_t seconds_per_day = 86400;
    const std::uint64_t days = epoch_seconds / seconds_per_day;
    constexpr std::uint64_t days_from_1900_to_1970 = 25568; // with 1900 a leap year, as for the chip
    const std::uint64_t days_since_1900 = days + days_from_1900_to_1970;
    store_time_of_day(static_cast<std::uint32_t>(epoch_seconds % seconds_per_day));
    store_date(days_since_1900);
    ram[rtc::day_of_week] = static_cast<std::uint8_t>(((days + 4) % 7) + 1); // 1970 began on a Thursday
    ram[rtc::century] = encode(static_cast<unsigned>((19 + (days_since_1900 / Date::days_in_century)) % 100));
}

void Rtc::set_memory_size(std::uint64_t bytes) {
    constexpr std::uint64_t kib = 1024;
    constexpr std::uint64_t mib = 1024 * kib;
    const auto above = [bytes](std::uint64_t start, std::uint64_t unit, std::uint64_t most) {
        return bytes <= start ? 0 : std::min((bytes - start) / unit, most);
    };
    const auto store = [this](unsigned index, unsigned length, std::uint64_t value) {
        for (unsigned i = 0; i < length; ++i) {
            ram[index + i] = static_cast<std::uint8_t>(value >> (8U * i));
        }
    };
    ram[rtc::equipment] = 0x02; // a coprocessor, no diskette drive
    store(rtc::base_memory, 2, above(0, kib, 640));
    store(rtc::extended_memory, 2, above(mib, kib, 0xffff));
    store(rtc::extended_memory_2, 2, above(mib, kib, 0xffff));
    store(rtc::memory_above_16m, 2, above(16 * mib, 64 * kib, 0xffff));
    store(rtc::memory_above_4g, 3, above(4096 * mib, 64 * kib, 0xff'ffff));
    unsigned sum = 0;
    for (unsigned index = rtc::checksum_first; index <= rtc::checksum_last; ++index) {
        sum += ram[index];
    }
    ram[rtc::checksum] = static_cast<std::uint8_t>(sum >> 8U);
    ram[rtc::checksum + 1] = static_cast<std::uint8_t>(sum);
}

} // namespace previrt
