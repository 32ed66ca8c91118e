// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>

namespace previrt {

// How far a test goes that takes random steps. PREVIRT_STEPS is the number of steps of each guest,
// PREVIRT_SEED the only guest: a failing test names its own.
struct RandomRun {
    std::uint32_t first_seed;
    std::uint32_t seeds;
    std::uint64_t steps;
};

inline RandomRun random_run(std::uint32_t seeds, std::uint64_t steps) {
    // NOLINTBEGIN(concurrency-mt-unsafe): no other thread runs
    const char* const seed = std::getenv("PREVIRT_SEED");
    const char* const wanted_steps = std::getenv("PREVIRT_STEPS");
    // NOLINTEND(concurrency-mt-unsafe)
    return {.first_seed = seed == nullptr ? 1 : static_cast<std::uint32_t>(std::strtoul(seed, nullptr, 0)),
            .seeds = seed == nullptr ? seeds : 1,
            .steps = wanted_steps == nullptr ? steps : std::strtoull(wanted_steps, nullptr, 0)};
}

// The steps of one guest, and then what must hold. False: a step has failed.
template <typename Guest>
bool take_steps(Guest& guest, std::uint64_t steps) {
    for (std::uint64_t step = 0; step < steps; ++step) {
        guest.step();
        if (testing::Test::HasFatalFailure()) {
            ADD_FAILURE() << "in step " << step;
            return false;
        }
    }
    guest.flush();
    guest.check();
    return true;
}

} // namespace previrt
