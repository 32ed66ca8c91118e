// SPDX-License-Identifier: BSD-2-Clause
#include "devices/local_apic/apic_timer.hpp"

namespace previrt {

// Bits 0, 1 and 3 of the register: by 2, 4, ... 128, and 7 for 1.
std::uint64_t ApicTimer::pulse() const {
    const unsigned power = (divide & 3U) | (divide >> 1U & 4U);
    return std::uint64_t{1} << ((power + 1) & 7U);
}

std::uint64_t ApicTimer::period() const {
    return initial_count * pulse();
}

// One-shot and periodic differ only after the end.
void ApicTimer::set_mode(Mode wanted) {
    const bool was_deadline = mode == Mode::deadline;
    mode = wanted;
    if (was_deadline != (wanted == Mode::deadline)) {
        runs = false;
        deadline = 0;
        initial_count = 0;
    }
}

void ApicTimer::write_initial_count(std::uint32_t count, std::uint64_t now) {
    if (mode == Mode::deadline) {
        return;
    }
    initial_count = count;
    runs = count != 0;
    due = now + period();
}

std::uint32_t ApicTimer::current_count(std::uint64_t now) const {
    if (!runs || mode == Mode::deadline || due <= now) {
        return 0;
    }
    return static_cast<std::uint32_t>((due - now + pulse() - 1) / pulse());
}

// The remaining count stays, in longer or shorter pulses.
void ApicTimer::write_divide(std::uint32_t value, std::uint64_t now) {
    const std::uint32_t left = current_count(now);
    divide = value & 0xbU;
    if (left != 0) {
        due = now + (left * pulse());
    }
}

void ApicTimer::write_deadline(std::uint64_t counter, std::uint64_t when) {
    if (mode != Mode::deadline) {
        return;
    }
    deadline = counter;
    runs = counter != 0;
    due = when;
}

bool ApicTimer::advance(std::uint64_t now) {
    if (!runs || now < due) {
        return false;
    }
    if (mode == Mode::periodic && initial_count != 0) {
        due += ((now - due) / period() + 1) * period();
        return true;
    }
    runs = false;
    deadline = 0;
    return true;
}

} // namespace previrt
