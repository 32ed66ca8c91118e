// SPDX-License-Identifier: BSD-2-Clause
// A fuzzer of a device: its input is a row of steps, and each changes the device's surroundings.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace previrt {

inline void check(bool holds) {
    if (!holds) {
        std::abort();
    }
}

template <typename Machine, typename Step>
void run_steps(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t most_steps = 4096;
    Machine machine;
    const std::size_t steps = std::min(size / sizeof(Step), most_steps);
    for (std::size_t i = 0; i < steps; ++i) {
        Step step{};
        std::memcpy(&step, data + (i * sizeof(step)), sizeof(step));
        machine.run(step);
    }
}

} // namespace previrt
