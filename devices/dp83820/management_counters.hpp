// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/dp83820/registers.hpp"

#include <array>
#include <cstdint>

namespace previrt::dp83820 {

// In the order of the registers.
enum class Counter : std::uint8_t {
    receive_errors,
    frame_checks,
    missed,
    alignment,
    symbols,
    too_long,
    in_range_length,
    bad_opcode,
    receive_pauses,
    transmit_pauses,
    signal_quality,
};

// MIBC and its counters. A read clears a counter; a counter stays at its maximum.
struct ManagementCounters {
    static constexpr std::uint32_t number = 11;

    bool frozen = true;
    bool warning = false;
    std::array<std::uint16_t, number> values{};

    void reset() { *this = ManagementCounters{}; }
    // True when ISR.MIB is due: a counter is half full.
    bool count(Counter counter);

    [[nodiscard]] std::uint32_t read_control() const {
        return (warning ? mibc_wrn : 0) | (frozen ? mibc_frz : 0);
    }
    // As count().
    bool write_control(std::uint32_t value);
    // `offset` is that of one of the counters.
    std::uint32_t read(std::uint32_t offset);

private:
    bool increase(std::uint32_t index);
};

} // namespace previrt::dp83820
