// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// In the order of the operations' numbers in opcodes.
enum class Operation : std::uint8_t {
    add,
    bitwise_or,
    add_with_carry,
    subtract_with_borrow,
    bitwise_and,
    subtract,
    bitwise_exclusive_or,
    compare
};

struct Outcome {
    std::uint64_t value; // of compare too: the difference
    std::uint64_t flags; // CF, PF, AF, ZF, SF, OF
};

constexpr std::uint64_t outcome_flags = 0x8d5;

// Operands have `width` bytes; bits beyond are ignored. AF, which the manual leaves undefined after bitwise
// operations, is clear then.
Outcome calculate(Operation operation, std::uint64_t left, std::uint64_t right, bool carry, unsigned width);

} // namespace previrt
