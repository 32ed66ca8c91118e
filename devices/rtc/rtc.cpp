// SPDX-License-Identifier: BSD-2-Clause
#include "devices/rtc/rtc.hpp"

#include "devices/rtc/rtc_registers.hpp"

#include <algorithm>

namespace previrt {

namespace {

constexpr std::uint64_t cycles_per_second = 32768;
// UIP rises 244 us before an update of 1984 us.
constexpr std::uint64_t cycles_of_uip = 8 + 65;

// The enables and flags of IRQF have the same bits in registers B and C.
constexpr std::uint8_t interrupts =
    rtc::periodic_interrupt | rtc::alarm_interrupt | rtc::update_ended_interrupt;

} // namespace

bool Rtc::counting() const {
    return (ram[rtc::register_a] & rtc::divider) == rtc::divider_32768;
}

bool Rtc::updating() const {
    return counting() && (ram[rtc::register_b] & rtc::set) == 0;
}

bool Rtc::may_interrupt() const {
    return (ram[rtc::register_b] & interrupts) != 0;
}

bool Rtc::interrupting() const {
    return (ram[rtc::register_b] & ram[rtc::register_c] & interrupts) != 0;
}

// The period of the periodic interrupt, in cycles; 0: none.
std::uint64_t Rtc::period() const {
    const unsigned rate = ram[rtc::register_a] & rtc::rate_selection;
    if (rate == 0 || !counting()) {
        return 0;
    }
    return std::uint64_t{1} << (rate <= 2 ? rate + 6 : rate - 1);
}

// The first after `settled`. The divider drives both updates and periodic interrupts, so they coincide.
std::optional<std::uint64_t> Rtc::next_periodic() const {
    const std::uint64_t cycles = period();
    if (cycles == 0) {
        return std::nullopt;
    }
    return settled + ((next_update - settled - 1) % cycles) + 1;
}

void Rtc::settle(std::uint64_t now) {
    const std::uint64_t cycle = Clock::cycles(now);
    if (cycle <= settled) {
        return;
    }
    if (counting()) {
        const std::optional<std::uint64_t> periodic = next_periodic();
        if (periodic && *periodic <= cycle) {
            ram[rtc::register_c] |= rtc::periodic_interrupt;
        }
        if (cycle >= next_update) {
            const std::uint64_t seconds = ((cycle - next_update) / cycles_per_second) + 1;
            if (updating()) {
                const std::optional<std::uint64_t> alarm = seconds_to_alarm();
                const bool alarmed = alarm && *alarm <= seconds;
                ram[rtc::register_c] |= rtc::update_ended_interrupt | (alarmed ? rtc::alarm_interrupt : 0);
                update(seconds);
            }
            next_update += seconds * cycles_per_second;
        }
    }
    settled = cycle;
}

void Rtc::write_register_a(std::uint8_t value) {
    const bool was_counting = counting();
    ram[rtc::register_a] = value & static_cast<std::uint8_t>(~rtc::update_in_progress);
    if (counting() && !was_counting) {
        next_update = settled + (cycles_per_second / 2);
    }
}

// This chip has no daylight saving: its bit stays 0.
void Rtc::write_register_b(std::uint8_t value) {
    value &= static_cast<std::uint8_t>(~rtc::daylight_saving);
    const bool was_set = (ram[rtc::register_b] & rtc::set) != 0;
    if ((value & rtc::set) != 0 && !was_set) {
        value &= static_cast<std::uint8_t>(~rtc::update_ended_interrupt_enable);
    }
    ram[rtc::register_b] = value;
}

std::uint8_t Rtc::read(std::uint16_t port, std::uint64_t now) {
    if ((port & 1U) == 0) {
        return 0xff; // write-only
    }
    settle(now);
    const unsigned index = address & 0x7fU;
    if (index == rtc::register_a) {
        const bool in_progress = updating() && next_update - settled <= cycles_of_uip;
        return static_cast<std::uint8_t>(ram[index] | (in_progress ? rtc::update_in_progress : 0));
    }
    if (index == rtc::register_c) {
        const std::uint8_t flags = ram[index];
        const std::uint8_t request = interrupting() ? rtc::interrupt_request : 0;
        ram[index] = 0;
        return flags | request;
    }
    return ram[index];
}

void Rtc::write(std::uint16_t port, std::uint8_t value, std::uint64_t now) {
    if ((port & 1U) == 0) {
        address = value;
        return;
    }
    settle(now);
    const unsigned index = address & 0x7fU;
    if (index == rtc::register_a) {
        write_register_a(value);
    } else if (index == rtc::register_b) {
        write_register_b(value);
    } else if (index != rtc::register_c && index != rtc::register_d) {
        ram[index] = value;
    }
}

bool Rtc::line(std::uint64_t now) {
    if (!may_interrupt()) { // without interrupts the count can wait for a read
        return false;
    }
    settle(now);
    return interrupting();
}

std::optional<std::uint64_t> Rtc::next_event(std::uint64_t now) const {
    if (!may_interrupt()) {
        return std::nullopt;
    }
    Rtc ahead = *this;
    ahead.settle(now);
    if (!ahead.counting() || ahead.interrupting()) {
        return std::nullopt;
    }
    const std::uint8_t enabled = ahead.ram[rtc::register_b];
    std::optional<std::uint64_t> first;
    const auto consider = [&first](std::uint64_t cycle) { first = std::min(first.value_or(cycle), cycle); };
    const std::optional<std::uint64_t> periodic = ahead.next_periodic();
    if ((enabled & rtc::periodic_interrupt_enable) != 0 && periodic) {
        consider(*periodic);
    }
    if (ahead.updating()) {
        const std::optional<std::uint64_t> alarm = ahead.seconds_to_alarm();
        if ((enabled & rtc::update_ended_interrupt_enable) != 0) {
            consider(ahead.next_update);
        } else if ((enabled & rtc::alarm_interrupt_enable) != 0 && alarm) {
            consider(ahead.next_update + ((*alarm - 1) * cycles_per_second));
        }
    }
    return first ? Clock::time_of(*first) : std::nullopt;
}

} // namespace previrt
