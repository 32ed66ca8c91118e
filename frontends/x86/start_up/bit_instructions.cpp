// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/start_up/instructions.hpp"

#include "frontends/x86/instructions/arithmetic.hpp"

#include <bit>

namespace previrt::start_up {

namespace {

enum class BitAction : std::uint8_t { test, set, reset, complement };

void act_on_bit(Execution& execution, const Operand& operand, BitAction action, unsigned bit) {
    const unsigned width = execution.operand_width;
    const std::uint32_t before = execution.load(operand, width);
    const std::uint32_t mask = std::uint32_t{1} << bit;
    execution.set_flags(bit_if((before & mask) != 0, flag_carry), flag_carry);
    switch (action) {
    case BitAction::test:
        break;
    case BitAction::set:
        execution.replace(operand, before, before | mask, width);
        break;
    case BitAction::reset:
        execution.replace(operand, before, before & ~mask, width);
        break;
    case BitAction::complement:
        execution.replace(operand, before, before ^ mask, width);
        break;
    }
}

} // namespace

// A register selects bits of memory on both sides of the operand.
void bit_by_register(Execution& execution) {
    const unsigned width = execution.operand_width;
    const ModRm operands = execution.mod_rm();
    const std::uint32_t number = execution.read_register(operands.reg, width);
    Operand operand = operands.rm;
    const unsigned unused = 32 - (8 * width);
    const std::int32_t distance = static_cast<std::int32_t>(number << unused) >> unused;
    const unsigned bits = 8 * width;
    if (operand.is_memory) {
        const std::int32_t words =
            (distance - static_cast<std::int32_t>(number % bits)) / static_cast<std::int32_t>(bits);
        operand.address = execution.behind(operand.address, static_cast<std::uint32_t>(words) * width);
    }
    act_on_bit(execution, operand, static_cast<BitAction>((execution.opcode >> 3U) & 3U), number % bits);
}

void bit_by_immediate(Execution& execution) {
    const ModRm operands = execution.mod_rm();
    const unsigned bit = execution.code_byte() % (8 * execution.operand_width);
    if (operands.reg < 4) {
        execution.refuse("an unknown opcode");
        return;
    }
    act_on_bit(execution, operands.rm, static_cast<BitAction>(operands.reg & 3U), bit);
}

// Of a number without bits, the processors of both makers leave the target as it is.
void scan_bits(Execution& execution) {
    const unsigned width = execution.operand_width;
    const ModRm operands = execution.mod_rm();
    if (execution.repeat == Repeat::while_equal) {
        execution.refuse("tzcnt and lzcnt are not interpreted");
        return;
    }
    const std::uint32_t number = execution.load(operands.rm, width);
    execution.set_flags(bit_if(number == 0, flag_zero), flag_zero);
    if (number != 0) {
        const int bit =
            (execution.opcode & 1U) != 0 ? 31 - std::countl_zero(number) : std::countr_zero(number);
        execution.write_register(operands.reg, static_cast<std::uint32_t>(bit), width);
    }
}

void shift_double(Execution& execution) {
    const unsigned width = execution.operand_width;
    const unsigned bits = 8 * width;
    const ModRm operands = execution.mod_rm();
    const bool is_by_cl = (execution.opcode & 1U) != 0;
    const unsigned count = (is_by_cl ? execution.read_register(rcx, 1) : execution.code_byte()) & 31U;
    if (count > bits) {
        execution.refuse("a double shift by more bits than the operand has");
        return;
    }
    const std::uint64_t target = execution.load(operands.rm, width);
    const std::uint64_t filler = execution.read_register(operands.reg, width);
    if (count == 0) {
        return;
    }
    const bool is_right = (execution.opcode & 8U) != 0;
    const std::uint64_t both = is_right ? (filler << bits) | target : (target << bits) | filler;
    const std::uint64_t shifted = is_right ? both >> count : (both >> (bits - count));
    const std::uint64_t last_out = is_right ? target >> (count - 1) : target >> (bits - count);
    const auto value = static_cast<std::uint32_t>(shifted);
    const Outcome of_value = calculate(Operation::bitwise_or, value, 0, false, width);
    const bool changes_sign = (((target ^ value) >> (bits - 1)) & 1U) != 0;
    execution.set_flags(of_value.flags | bit_if((last_out & 1U) != 0, flag_carry) |
                            bit_if(changes_sign, flag_overflow),
                        outcome_flags);
    execution.store(operands.rm, value, width);
}

void swap_bytes(Execution& execution) {
    if (execution.operand_width == 2) {
        execution.refuse("bswap of 16 bits, which the manual leaves undefined");
        return;
    }
    const unsigned number = execution.opcode & 7U;
    execution.write_register(number, __builtin_bswap32(execution.read_register(number, 4)), 4);
}

} // namespace previrt::start_up
