// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::start_up {

// In the order of their numbers in ModRM.reg. 6 is an alias of shift_left.
enum class Shift : std::uint8_t {
    rotate_left,
    rotate_right,
    rotate_left_through_carry,
    rotate_right_through_carry,
    shift_left,
    shift_right,
    shift_left_too,
    shift_right_signed,
};

struct Shifted {
    std::uint32_t value;
    std::uint64_t flags;
    std::uint64_t changed; // the flags that get a new value; of those, the manual leaves some undefined
};

// `width` is 1, 2 or 4, `count` below 32. Count 0 changes nothing.
Shifted shift(Shift operation, std::uint32_t value, unsigned count, bool carry, unsigned width);

} // namespace previrt::start_up
