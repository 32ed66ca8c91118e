// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt {

// The course of a counter's counting element and OUT from one CLK pulse on, until a write or a change of
// GATE. Pulses are numbered by the oscillator's cycles.
struct Course {
    std::uint64_t start = 0;
    std::uint32_t count = 0; // at `start`; a full count is the modulus
    std::uint32_t phase = 0; // mode 3: pulses of the period that have passed at `start`; less than `count`
    std::uint32_t modulus = 0x1'0000;
    std::uint8_t mode = 0;
    bool counting = false;
    bool expired = false;  // modes 0, 1, 4, 5: OUT has made its last change
    bool idle_out = false; // OUT while not counting

    [[nodiscard]] std::uint32_t value(std::uint64_t pulse) const;
    [[nodiscard]] bool output(std::uint64_t pulse) const;

    // Pulses after `since` up to and with `until` that raise OUT.
    [[nodiscard]] std::uint64_t rising_edges(std::uint64_t since, std::uint64_t until) const;
    [[nodiscard]] std::optional<std::uint64_t> next_rising_edge(std::uint64_t pulse) const;

    // Modes 2 and 3, counting: the next pulse that reloads the counting element.
    [[nodiscard]] std::uint64_t next_reload(std::uint64_t pulse) const;

    // The same, stopped at `pulse`, or continuing from there.
    [[nodiscard]] Course stopped(std::uint64_t pulse, bool out) const;
    [[nodiscard]] Course resumed(std::uint64_t pulse) const;

private:
    // Every `period` pulses from `first` on; only once if `period` is 0.
    struct Edges {
        std::uint64_t first;
        std::uint64_t period;
    };
    [[nodiscard]] std::optional<Edges> rises() const;
    [[nodiscard]] std::uint64_t elapsed(std::uint64_t pulse) const {
        return pulse > start ? pulse - start : 0;
    }
    [[nodiscard]] std::uint32_t position(std::uint64_t pulse) const;
    [[nodiscard]] std::uint32_t high_half() const { return (count + 1) / 2; }
};

} // namespace previrt
