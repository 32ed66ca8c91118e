// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/instructions/arithmetic.hpp"

namespace previrt {

namespace {

enum Flag : std::uint64_t {
    carry_flag = 1U << 0U,
    parity_flag = 1U << 2U,
    adjust_flag = 1U << 4U,
    zero_flag = 1U << 6U,
    sign_flag = 1U << 7U,
    overflow_flag = 1U << 11U,
};

// Bit by bit: the carries, and whether the sum overflows.
struct Course {
    std::uint64_t value;
    std::uint64_t carries;
    std::uint64_t overflows;
};

Course add(std::uint64_t left, std::uint64_t right, std::uint64_t carry) {
    const std::uint64_t sum = left + right + carry;
    return {.value = sum,
            .carries = (left & right) | ((left | right) & ~sum),
            .overflows = (left ^ sum) & (right ^ sum)};
}

Course subtract(std::uint64_t left, std::uint64_t right, std::uint64_t borrow) {
    const std::uint64_t difference = left - right - borrow;
    return {.value = difference,
            .carries = (~left & right) | (~(left ^ right) & difference),
            .overflows = (left ^ right) & (left ^ difference)};
}

Course follow(Operation operation, std::uint64_t left, std::uint64_t right, bool carry) {
    switch (operation) {
    case Operation::add:
        return add(left, right, 0);
    case Operation::add_with_carry:
        return add(left, right, carry ? 1 : 0);
    case Operation::subtract:
    case Operation::compare:
        return subtract(left, right, 0);
    case Operation::subtract_with_borrow:
        return subtract(left, right, carry ? 1 : 0);
    case Operation::bitwise_and:
        return {.value = left & right, .carries = 0, .overflows = 0};
    case Operation::bitwise_or:
        return {.value = left | right, .carries = 0, .overflows = 0};
    case Operation::bitwise_exclusive_or:
        break;
    }
    return {.value = left ^ right, .carries = 0, .overflows = 0};
}

// Not std::popcount: without the instruction it calls a library function.
bool is_even(std::uint8_t byte) {
    constexpr std::uint16_t odd_nibbles = 0x6996;
    const unsigned both = (byte >> 4U) ^ (byte & 15U);
    return ((odd_nibbles >> both) & 1U) == 0;
}

} // namespace

Outcome calculate(Operation operation, std::uint64_t left, std::uint64_t right, bool carry, unsigned width) {
    const Course course = follow(operation, left, right, carry);
    const unsigned sign = (8 * width) - 1;
    const std::uint64_t mask = ~std::uint64_t{0} >> (63 - sign);
    const std::uint64_t value = course.value & mask;
    std::uint64_t flags = 0;
    const auto set = [&flags](std::uint64_t flag, bool is_set) { flags |= is_set ? flag : 0; };
    constexpr std::uint64_t half_carry = 1U << 3U;
    set(carry_flag, ((course.carries >> sign) & 1U) != 0);
    set(parity_flag, is_even(static_cast<std::uint8_t>(value)));
    set(adjust_flag, (course.carries & half_carry) != 0);
    set(zero_flag, value == 0);
    set(sign_flag, ((value >> sign) & 1U) != 0);
    set(overflow_flag, ((course.overflows >> sign) & 1U) != 0);
    return {.value = value, .flags = flags};
}

} // namespace previrt
