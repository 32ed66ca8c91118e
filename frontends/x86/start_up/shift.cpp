// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/start_up/shift.hpp"

#include "frontends/x86/instructions/arithmetic.hpp"
#include "frontends/x86/start_up/execution.hpp"

namespace previrt::start_up {

namespace {

struct Moved {
    std::uint32_t value;
    bool carry;
};

// Of a number of `bits` bits, to the left.
std::uint64_t rotate(std::uint64_t number, unsigned count, unsigned bits) {
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    return count == 0 ? number : ((number << count) | (number >> (bits - count))) & mask;
}

Moved rotate_with_carry(std::uint32_t value, bool carry, unsigned left, unsigned bits) {
    const std::uint64_t whole = value | (std::uint64_t{carry} << bits);
    const std::uint64_t rotated = rotate(whole, left, bits + 1);
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    return {.value = static_cast<std::uint32_t>(rotated & mask), .carry = (rotated >> bits) != 0};
}

std::int64_t extend(std::uint32_t value, unsigned bits) {
    const unsigned unused = 64 - bits;
    return static_cast<std::int64_t>(std::uint64_t{value} << unused) >> unused;
}

Moved move(Shift operation, std::uint32_t value, unsigned count, bool carry, unsigned bits) {
    const unsigned turns = count % bits;
    const unsigned turns_with_carry = count % (bits + 1);
    switch (operation) {
    case Shift::rotate_left: {
        const auto rotated = static_cast<std::uint32_t>(rotate(value, turns, bits));
        return {.value = rotated, .carry = (rotated & 1U) != 0};
    }
    case Shift::rotate_right: {
        const auto rotated = static_cast<std::uint32_t>(rotate(value, (bits - turns) % bits, bits));
        return {.value = rotated, .carry = (rotated >> (bits - 1)) != 0};
    }
    case Shift::rotate_left_through_carry:
        return rotate_with_carry(value, carry, turns_with_carry, bits);
    case Shift::rotate_right_through_carry:
        return rotate_with_carry(value, carry, (bits + 1 - turns_with_carry) % (bits + 1), bits);
    case Shift::shift_right:
        return {.value = value >> count, .carry = ((value >> (count - 1)) & 1U) != 0};
    case Shift::shift_right_signed: {
        const std::int64_t wide = extend(value, bits);
        return {.value = static_cast<std::uint32_t>(wide >> count),
                .carry = ((wide >> (count - 1)) & 1) != 0};
    }
    case Shift::shift_left:
    case Shift::shift_left_too:
        break;
    }
    const std::uint64_t wide = std::uint64_t{value} << count;
    return {.value = static_cast<std::uint32_t>(wide), .carry = ((wide >> bits) & 1U) != 0};
}

// Defined if the count is 1.
bool overflows(Shift operation, std::uint32_t before, Moved after, unsigned bits) {
    const bool top = ((after.value >> (bits - 1)) & 1U) != 0;
    const bool second = ((after.value >> (bits - 2)) & 1U) != 0;
    switch (operation) {
    case Shift::rotate_right:
    case Shift::rotate_right_through_carry:
        return top != second;
    case Shift::shift_right:
        return ((before >> (bits - 1)) & 1U) != 0;
    case Shift::shift_right_signed:
        return false;
    case Shift::rotate_left:
    case Shift::rotate_left_through_carry:
    case Shift::shift_left:
    case Shift::shift_left_too:
        break;
    }
    return top != after.carry;
}

} // namespace

Shifted shift(Shift operation, std::uint32_t value, unsigned count, bool carry, unsigned width) {
    if (count == 0) {
        return {.value = value, .flags = 0, .changed = 0};
    }
    const unsigned bits = 8 * width;
    const Moved after = move(operation, value, count, carry, bits);
    const bool rotates = operation < Shift::shift_left;
    constexpr std::uint64_t of_rotation = flag_carry | flag_overflow;
    const std::uint64_t of_value =
        calculate(Operation::bitwise_or, after.value, 0, false, width).flags & ~of_rotation;
    return {.value = static_cast<std::uint32_t>(
                calculate(Operation::bitwise_or, after.value, 0, false, width).value),
            .flags = of_value | bit_if(after.carry, flag_carry) |
                     bit_if(overflows(operation, value, after, bits), flag_overflow),
            .changed = rotates ? of_rotation : outcome_flags};
}

} // namespace previrt::start_up
