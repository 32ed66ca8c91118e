// SPDX-License-Identifier: BSD-2-Clause
#include "devices/pit8254/pit8254.hpp"

namespace previrt {

namespace {

constexpr unsigned control_register = 3;
constexpr std::uint8_t floating_bus = 0xff;

constexpr unsigned read_back = 3;
constexpr std::uint8_t read_back_no_count = 0x20;
constexpr std::uint8_t read_back_no_status = 0x10;
constexpr std::uint8_t control_access = 0x30; // 0: latch

} // namespace

std::uint8_t Pit8254::read(std::uint16_t port, std::uint64_t now) {
    const unsigned selected = port & 3U;
    return selected == control_register ? floating_bus : counters[selected].read(Clock::cycles(now));
}

void Pit8254::write(std::uint16_t port, std::uint8_t value, std::uint64_t now) {
    const std::uint64_t pulse = Clock::cycles(now);
    if ((port & 3U) != control_register) {
        counters[port & 3U].write(value, pulse);
        return;
    }
    const unsigned selected = value >> 6U;
    if (selected != read_back) {
        if ((value & control_access) == 0) {
            counters[selected].latch_count(pulse);
        } else {
            counters[selected].write_control_word(value, pulse);
        }
        return;
    }
    for (unsigned channel = 0; channel < counters.size(); ++channel) {
        if ((value & (2U << channel)) == 0) {
            continue;
        }
        if ((value & read_back_no_count) == 0) {
            counters[channel].latch_count(pulse);
        }
        if ((value & read_back_no_status) == 0) {
            counters[channel].latch_status(pulse);
        }
    }
}

void Pit8254::set_gate(bool level, std::uint64_t now) {
    counters[2].set_gate(level, Clock::cycles(now));
}

bool Pit8254::output(unsigned channel, std::uint64_t now) const {
    return channel < counters.size() && counters[channel].output(Clock::cycles(now));
}

std::optional<std::uint64_t> Pit8254::next_edge(std::uint64_t now) const {
    const std::optional<std::uint64_t> pulse = counters[0].next_rising_edge(Clock::cycles(now));
    return pulse ? Clock::time_of(*pulse) : std::nullopt;
}

std::uint64_t Pit8254::rising_edges(std::uint64_t since, std::uint64_t until) const {
    return counters[0].rising_edges(Clock::cycles(since), Clock::cycles(until));
}

} // namespace previrt
