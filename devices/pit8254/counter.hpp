// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pit8254/course.hpp"

#include <cstdint>
#include <optional>
#include <type_traits>

namespace previrt {

// One counter of an Intel 8254. Times are CLK pulses.
struct Counter {
    Course course;
    Course next_course; // from its `start` on, if `loading`
    bool loading = false;
    bool gate = true;
    std::uint8_t control_word = 0x30; // without the counter's number
    std::uint16_t count_register = 0;
    std::uint8_t low_written = 0; // waits for the high byte
    bool armed = false;           // a whole count has been written since the control word
    bool null_count = true;
    bool writing_high = false;
    bool reading_high = false;
    bool count_latched = false;
    bool status_latched = false;
    std::uint16_t latched_count = 0;
    std::uint8_t latched_status = 0;

    void write_control_word(std::uint8_t value, std::uint64_t pulse);
    void write(std::uint8_t value, std::uint64_t pulse);
    std::uint8_t read(std::uint64_t pulse);
    void latch_count(std::uint64_t pulse);
    void latch_status(std::uint64_t pulse);
    void set_gate(bool level, std::uint64_t pulse);

    [[nodiscard]] bool output(std::uint64_t pulse) const;
    [[nodiscard]] std::uint64_t rising_edges(std::uint64_t since, std::uint64_t until) const;
    [[nodiscard]] std::optional<std::uint64_t> next_rising_edge(std::uint64_t pulse) const;

private:
    void settle(std::uint64_t pulse);
    void load(std::uint64_t pulse);
    void finish_count(std::uint64_t pulse);
    [[nodiscard]] unsigned access() const { return (control_word >> 4U) & 3U; }
    [[nodiscard]] std::uint8_t mode() const;
    [[nodiscard]] bool decimal() const { return (control_word & 1U) != 0; }
    [[nodiscard]] std::uint32_t modulus() const;
    [[nodiscard]] std::uint16_t visible_count(std::uint64_t pulse) const;
    [[nodiscard]] bool raised_by_load() const;
};

static_assert(std::is_trivially_copyable_v<Counter>);

} // namespace previrt
