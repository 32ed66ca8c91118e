// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace previrt {

// A clock signal that starts at time 0. It is exact, and no product overflows within the 584 years that `now`
// can count.
template <std::uint64_t hertz>
struct Oscillator {
    static constexpr std::uint64_t second = 1'000'000'000;
    static_assert(hertz > 0 && hertz <= second);

    // Cycles completed by `now`.
    static constexpr std::uint64_t cycles(std::uint64_t now) {
        return ((now / second) * hertz) + (((now % second) * hertz) / second);
    }

    // The first time at which `cycle` cycles are complete; nullopt if `now` cannot count so far.
    static constexpr std::optional<std::uint64_t> time_of(std::uint64_t cycle) {
        const std::uint64_t seconds = cycle / hertz;
        const std::uint64_t rest = (((cycle % hertz) * second) + hertz - 1) / hertz;
        if (seconds > (std::numeric_limits<std::uint64_t>::max() - rest) / second) {
            return std::nullopt;
        }
        return (seconds * second) + rest;
    }
};

} // namespace previrt
