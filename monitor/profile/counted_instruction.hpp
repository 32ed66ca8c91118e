// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/instruction_counts.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace previrt {

enum class CountedIn : std::uint8_t { kernel, programs, elsewhere };

// A row of the VMM's table, as the host knows it.
struct CountedInstruction {
    CountedIn in = CountedIn::kernel;
    std::uint64_t address = 0; // of the guest's kernel, as it is linked; a module's is its present one
    Cause cause = Cause::none;
    std::string kind; // of the site; the vector of an exception; the name or number of a call of the host
    std::uint64_t count = 0;
    std::uint64_t cycles = 0;
};

struct CountedInstructions {
    std::vector<CountedInstruction> rows;
    std::uint64_t rows_left_out = 0; // by the VMM, which prints no more
    std::uint64_t counts_left_out = 0;
    bool have_cycles = false;
};

} // namespace previrt
