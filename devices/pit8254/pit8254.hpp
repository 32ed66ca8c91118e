// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pit8254/counter.hpp"
#include "devices/platform/oscillator.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace previrt {

// The Intel 8254 of a PC: ports 0x40 to 0x43, GATE of counters 0 and 1 high.
struct Pit8254 {
    using Clock = Oscillator<1'193'182>;

    std::array<Counter, 3> counters{};

    static constexpr bool decodes(std::uint16_t port) { return (port & ~3U) == 0x40; }

    std::uint8_t read(std::uint16_t port, std::uint64_t now);
    void write(std::uint16_t port, std::uint8_t value, std::uint64_t now);

    // GATE of counter 2.
    void set_gate(bool level, std::uint64_t now);
    [[nodiscard]] bool gate() const { return counters[2].gate; }

    // OUT of a counter.
    [[nodiscard]] bool output(unsigned channel, std::uint64_t now) const;

    // Of counter 0's OUT: the first rising edge after `now`, and the number of edges after `since` up to and
    // with `until`. Neither includes edges from before the last write, nor those that a write itself makes:
    // compare output().
    [[nodiscard]] std::optional<std::uint64_t> next_edge(std::uint64_t now) const;
    [[nodiscard]] std::uint64_t rising_edges(std::uint64_t since, std::uint64_t until) const;
};

static_assert(std::is_trivially_copyable_v<Pit8254>);

} // namespace previrt
