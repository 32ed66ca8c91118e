// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt {

// The timer of a local APIC. Its clock is 1 GHz: a pulse, undivided, is a nanosecond.
struct ApicTimer {
    enum class Mode : std::uint8_t { one_shot, periodic, deadline, reserved };

    Mode mode = Mode::one_shot;
    bool runs = false;
    std::uint8_t divide = 0; // the register
    std::uint32_t initial_count = 0;
    std::uint64_t deadline = 0; // of the time-stamp counter; 0: none
    std::uint64_t due = 0;      // while it runs

    void set_mode(Mode wanted);
    void write_initial_count(std::uint32_t count, std::uint64_t now);
    [[nodiscard]] std::uint32_t current_count(std::uint64_t now) const;
    void write_divide(std::uint32_t value, std::uint64_t now);
    void write_deadline(std::uint64_t counter, std::uint64_t when);
    // Returns whether it expired since the last call.
    bool advance(std::uint64_t now);

private:
    [[nodiscard]] std::uint64_t pulse() const; // nanoseconds
    [[nodiscard]] std::uint64_t period() const;
};

} // namespace previrt
