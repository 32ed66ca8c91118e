// SPDX-License-Identifier: BSD-2-Clause
// Counts executed instructions by single-stepping a child process.
#pragma once

#include <cstdint>

namespace previrt {

struct CodeRange {
    std::uintptr_t begin;
    std::uintptr_t end;
};

// Runs its code `passes` times and returns the range of the code; 0 passes only returns the range.
using Block = CodeRange (*)(std::uint64_t passes);

struct Steps {
    std::uint64_t count; // instructions executed inside the block
    int fault;           // the signal that an instruction raised, or 0
};

// One pass over the block, in a child process, which alone a fault can end. Throws if the child cannot be
// traced.
Steps single_step(Block block);

} // namespace previrt
