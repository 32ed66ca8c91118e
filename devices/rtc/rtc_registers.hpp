// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::rtc {

enum Register : std::uint8_t {
    seconds = 0x00,
    seconds_alarm = 0x01,
    minutes = 0x02,
    minutes_alarm = 0x03,
    hours = 0x04,
    hours_alarm = 0x05,
    day_of_week = 0x06,
    date_of_month = 0x07,
    month = 0x08,
    year = 0x09,
    register_a = 0x0a,
    register_b = 0x0b,
    register_c = 0x0c,
    register_d = 0x0d,
    equipment = 0x14,         // from here on CMOS RAM in IBM's layout
    base_memory = 0x15,       // KiB, 2 bytes
    extended_memory = 0x17,   // KiB above 1 MiB, 2 bytes
    checksum = 0x2e,          // of checksum_first to checksum_last, high byte first
    extended_memory_2 = 0x30, // the same as 0x17
    century = 0x32,
    memory_above_16m = 0x34, // 64 KiB units, 2 bytes
    memory_above_4g = 0x5b,  // 64 KiB units, 3 bytes
};

constexpr std::uint8_t checksum_first = 0x10;
constexpr std::uint8_t checksum_last = 0x2d;

enum RegisterA : std::uint8_t {
    update_in_progress = 0x80,
    divider = 0x70,
    divider_32768 = 0x20, // any other stops a chip with a clock crystal
    rate_selection = 0x0f,
};

enum RegisterB : std::uint8_t {
    set = 0x80,
    periodic_interrupt_enable = 0x40,
    alarm_interrupt_enable = 0x20,
    update_ended_interrupt_enable = 0x10,
    binary = 0x04,
    hours_24 = 0x02,
    daylight_saving = 0x01,
};

enum RegisterC : std::uint8_t {
    interrupt_request = 0x80,
    periodic_interrupt = 0x40,
    alarm_interrupt = 0x20,
    update_ended_interrupt = 0x10,
};

enum RegisterD : std::uint8_t {
    valid_ram_and_time = 0x80,
};

constexpr std::uint8_t hours_pm = 0x80;
constexpr std::uint8_t alarm_any = 0xc0; // both bits: every value matches

} // namespace previrt::rtc
