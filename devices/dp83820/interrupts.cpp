// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/interrupts.hpp"

#include "devices/dp83820/registers.hpp"

#include <algorithm>

namespace previrt::dp83820 {

namespace {

constexpr std::uint64_t holdoff_unit = 100'000;
constexpr std::uint64_t fast_holdoff_unit = 4'000;

constexpr std::uint32_t isr_sent = isr_txok | isr_txidle;

} // namespace

void Interrupts::reset() {
    status = isr_rxrcmp | isr_txrcmp;
    mask = 0;
    enabled = false;
    holdoff = 0;
    held_until = 0;
}

std::uint32_t Interrupts::raw_status() const {
    return status | ((status & isr_high) != 0 ? isr_hibint : 0);
}

std::uint64_t Interrupts::holdoff_time() const {
    return (holdoff & ihr_holdoff) * (fast_timer ? fast_holdoff_unit : holdoff_unit);
}

std::uint64_t Interrupts::pause() const {
    const std::uint32_t causes = raw_status() & mask;
    if ((causes & ~isr_sent) != 0) {
        return least_pause << doublings;
    }
    return processor_rests ? sent_pause : busy_sent_pause;
}

std::uint64_t Interrupts::opens_at() const {
    return std::max(read_at ? *read_at + pause() : 0, held_until);
}

// With IHCTL, the timer runs from the first cause on.
void Interrupts::note_first(bool was_pending, std::uint64_t now) {
    if ((holdoff & ihr_ihctl) != 0 && !was_pending && pending()) {
        held_until = now + holdoff_time();
    }
}

void Interrupts::raise(std::uint32_t bits, std::uint64_t now) {
    const bool was_pending = pending();
    status |= bits;
    note_first(was_pending, now);
}

std::uint32_t Interrupts::read_status(std::uint64_t now) {
    const std::uint32_t value = raw_status();
    status = 0;
    doublings = value == isr_rxidle ? std::min(doublings + 1, most_doublings) : 0;
    read_at = now;
    if ((holdoff & ihr_ihctl) == 0) {
        held_until = now + holdoff_time();
    }
    return value;
}

void Interrupts::write_mask(std::uint32_t value, std::uint64_t now) {
    const bool was_pending = pending();
    mask = value & isr_all;
    note_first(was_pending, now);
}

void Interrupts::write_enable(std::uint32_t value, std::uint64_t now) {
    const bool was_pending = pending();
    enabled = (value & 1U) != 0;
    note_first(was_pending, now);
}

void Interrupts::write_holdoff(std::uint32_t value) {
    holdoff = value & ihr_all;
    if ((holdoff & ihr_holdoff) == 0) {
        held_until = 0;
    }
}

std::optional<std::uint64_t> Interrupts::next_event(std::uint64_t now) const {
    return pending() && now < opens_at() ? std::optional(opens_at()) : std::nullopt;
}

} // namespace previrt::dp83820
