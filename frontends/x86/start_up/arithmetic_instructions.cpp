// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/start_up/instructions.hpp"

#include "frontends/x86/instructions/arithmetic.hpp"
#include "frontends/x86/start_up/shift.hpp"

namespace previrt::start_up {

namespace {

constexpr Operand accumulator = {.is_memory = false, .number = rax, .address = {}};

Operand register_operand(std::uint8_t number) {
    return {.is_memory = false, .number = number, .address = {}};
}

void calculate_in(Execution& execution, const Operand& left, Operation operation, std::uint32_t right,
                  unsigned width, std::uint64_t changed = outcome_flags) {
    const std::uint32_t before = execution.load(left, width);
    const Outcome outcome = calculate(operation, before, right, execution.flag(flag_carry), width);
    execution.set_flags(outcome.flags, changed);
    if (operation != Operation::compare) {
        execution.replace(left, before, static_cast<std::uint32_t>(outcome.value), width);
    }
}

void test(Execution& execution, std::uint32_t left, std::uint32_t right, unsigned width) {
    execution.set_flags(calculate(Operation::bitwise_and, left, right, false, width).flags, outcome_flags);
}

// inc and dec leave the carry.
void step(Execution& execution, const Operand& operand, bool down, unsigned width) {
    constexpr std::uint64_t changed = outcome_flags & ~std::uint64_t{flag_carry};
    calculate_in(execution, operand, down ? Operation::subtract : Operation::add, 1, width, changed);
}

std::int64_t sign_extended(std::uint32_t value, unsigned width) {
    const unsigned unused = 64 - (8 * width);
    return static_cast<std::int64_t>(std::uint64_t{value} << unused) >> unused;
}

constexpr std::uint64_t mask_of(unsigned width) {
    return (std::uint64_t{1} << (8 * width)) - 1;
}

// The double number in AX, DX:AX or EDX:EAX.
std::uint64_t read_double(const Execution& execution, unsigned width) {
    if (width == 1) {
        return execution.read_register(rax, 2);
    }
    return execution.read_register(rax, width) |
           (std::uint64_t{execution.read_register(rdx, width)} << (8 * width));
}

void write_double(Execution& execution, std::uint64_t value, unsigned width) {
    if (width == 1) {
        execution.write_register(rax, static_cast<std::uint32_t>(value), 2);
        return;
    }
    execution.write_register(rax, static_cast<std::uint32_t>(value), width);
    execution.write_register(rdx, static_cast<std::uint32_t>(value >> (8 * width)), width);
}

void set_product_flags(Execution& execution, bool is_larger) {
    constexpr std::uint64_t both = flag_carry | flag_overflow;
    execution.set_flags(is_larger ? both : 0, both);
}

void multiply(Execution& execution, std::uint32_t by, unsigned width) {
    const std::uint64_t product = std::uint64_t{execution.read_register(rax, width)} * by;
    write_double(execution, product, width);
    set_product_flags(execution, (product >> (8 * width)) != 0);
}

void multiply_signed(Execution& execution, std::uint32_t by, unsigned width) {
    const std::int64_t product =
        sign_extended(execution.read_register(rax, width), width) * sign_extended(by, width);
    write_double(execution, static_cast<std::uint64_t>(product), width);
    set_product_flags(execution, product != sign_extended(static_cast<std::uint32_t>(product), width));
}

void write_quotient(Execution& execution, std::uint64_t quotient, std::uint64_t remainder, unsigned width) {
    execution.write_register(rax, static_cast<std::uint32_t>(quotient), width);
    const unsigned place = width == 1 ? 4 : rdx; // AH
    execution.write_register(place, static_cast<std::uint32_t>(remainder), width);
}

void divide(Execution& execution, std::uint32_t by, unsigned width) {
    const std::uint64_t dividend = read_double(execution, width);
    if (by == 0 || dividend / by > mask_of(width)) {
        execution.fault(divide_error, "a division by zero, or a quotient that is too large");
        return;
    }
    write_quotient(execution, dividend / by, dividend % by, width);
}

void divide_signed(Execution& execution, std::uint32_t by, unsigned width) {
    const unsigned unused = 64 - (16 * width);
    const std::int64_t dividend =
        static_cast<std::int64_t>(read_double(execution, width) << unused) >> unused;
    const std::int64_t divisor = sign_extended(by, width);
    // The quotient of the least number by -1 is not in 64 bits.
    const bool is_least = static_cast<std::uint64_t>(dividend) == std::uint64_t{1} << 63U;
    if (divisor == 0 || is_least) {
        execution.fault(divide_error, "a division by zero, or a quotient that is too large");
        return;
    }
    const std::int64_t quotient = dividend / divisor;
    if (quotient != sign_extended(static_cast<std::uint32_t>(quotient), width)) {
        execution.fault(divide_error, "a division by zero, or a quotient that is too large");
        return;
    }
    write_quotient(execution, static_cast<std::uint64_t>(quotient),
                   static_cast<std::uint64_t>(dividend % divisor), width);
}

void shift_operand(Execution& execution, const ModRm& operands, unsigned count, unsigned width) {
    const std::uint32_t before = execution.load(operands.rm, width);
    const Shifted after =
        shift(static_cast<Shift>(operands.reg), before, count & 31U, execution.flag(flag_carry), width);
    execution.set_flags(after.flags, after.changed);
    execution.store(operands.rm, after.value, width);
}

void multiply_into(Execution& execution, std::uint8_t target, std::uint32_t left, std::uint32_t right) {
    const unsigned width = execution.operand_width;
    const std::int64_t product = sign_extended(left, width) * sign_extended(right, width);
    execution.write_register(target, static_cast<std::uint32_t>(product), width);
    set_product_flags(execution, product != sign_extended(static_cast<std::uint32_t>(product), width));
}

} // namespace

void arithmetic(Execution& execution) {
    const auto operation = static_cast<Operation>((execution.opcode >> 3U) & 7U);
    const unsigned width = execution.width();
    const bool is_to_register = (execution.opcode & 2U) != 0;
    if ((execution.opcode & 4U) != 0) {
        calculate_in(execution, accumulator, operation, execution.code_number(width), width);
        return;
    }
    const ModRm operands = execution.mod_rm();
    if (is_to_register) {
        calculate_in(execution, register_operand(operands.reg), operation, execution.load(operands.rm, width),
                     width);
    } else {
        calculate_in(execution, operands.rm, operation, execution.read_register(operands.reg, width), width);
    }
}

void arithmetic_immediate(Execution& execution) {
    const unsigned width = execution.width();
    const ModRm operands = execution.mod_rm();
    const std::uint32_t right =
        execution.opcode == 0x81 ? execution.code_number(width) : execution.code_signed_byte();
    calculate_in(execution, operands.rm, static_cast<Operation>(operands.reg), right, width);
}

void test_operands(Execution& execution) {
    const unsigned width = execution.width();
    const ModRm operands = execution.mod_rm();
    test(execution, execution.load(operands.rm, width), execution.read_register(operands.reg, width), width);
}

void test_immediate(Execution& execution) {
    const unsigned width = execution.width();
    test(execution, execution.read_register(rax, width), execution.code_number(width), width);
}

void step_register(Execution& execution) {
    step(execution, register_operand(execution.opcode & 7U), (execution.opcode & 8U) != 0,
         execution.operand_width);
}

void step_group(Execution& execution) {
    const ModRm operands = execution.mod_rm();
    if (operands.reg > 1) {
        execution.refuse("an unknown opcode");
        return;
    }
    step_operand(execution, operands);
}

void step_operand(Execution& execution, const ModRm& operands) {
    step(execution, operands.rm, operands.reg == 1, execution.width());
}

void unary_group(Execution& execution) {
    const unsigned width = execution.width();
    const ModRm operands = execution.mod_rm();
    const std::uint32_t operand = execution.load(operands.rm, width);
    switch (operands.reg) {
    case 2:
        execution.replace(operands.rm, operand, ~operand, width);
        break;
    case 3: {
        const Outcome outcome = calculate(Operation::subtract, 0, operand, false, width);
        execution.set_flags(outcome.flags, outcome_flags);
        execution.replace(operands.rm, operand, static_cast<std::uint32_t>(outcome.value), width);
        break;
    }
    case 4:
        multiply(execution, operand, width);
        break;
    case 5:
        multiply_signed(execution, operand, width);
        break;
    case 6:
        divide(execution, operand, width);
        break;
    case 7:
        divide_signed(execution, operand, width);
        break;
    default:
        test(execution, operand, execution.code_number(width), width);
    }
}

void multiply_by_immediate(Execution& execution) {
    const ModRm operands = execution.mod_rm();
    const std::uint32_t right = execution.opcode == 0x6b ? execution.code_signed_byte()
                                                         : execution.code_number(execution.operand_width);
    multiply_into(execution, operands.reg, execution.load(operands.rm, execution.operand_width), right);
}

void multiply_register(Execution& execution) {
    const unsigned width = execution.operand_width;
    const ModRm operands = execution.mod_rm();
    multiply_into(execution, operands.reg, execution.read_register(operands.reg, width),
                  execution.load(operands.rm, width));
}

void shift_by_immediate(Execution& execution) {
    const ModRm operands = execution.mod_rm();
    const std::uint8_t count = execution.code_byte();
    shift_operand(execution, operands, count, execution.width());
}

void shift_by_one(Execution& execution) {
    shift_operand(execution, execution.mod_rm(), 1, execution.width());
}

void shift_by_cl(Execution& execution) {
    shift_operand(execution, execution.mod_rm(), execution.read_register(rcx, 1), execution.width());
}

void extend_accumulator(Execution& execution) {
    const unsigned half = execution.operand_width / 2;
    const std::int64_t value = sign_extended(execution.read_register(rax, half), half);
    execution.write_register(rax, static_cast<std::uint32_t>(value), execution.operand_width);
}

void extend_to_rdx(Execution& execution) {
    const unsigned width = execution.operand_width;
    const bool is_negative = sign_extended(execution.read_register(rax, width), width) < 0;
    execution.write_register(rdx, is_negative ? ~std::uint32_t{0} : 0, width);
}

void exchange_and_add(Execution& execution) {
    const unsigned width = execution.width();
    const ModRm operands = execution.mod_rm();
    const std::uint32_t left = execution.load(operands.rm, width);
    const std::uint32_t right = execution.read_register(operands.reg, width);
    const Outcome outcome = calculate(Operation::add, left, right, false, width);
    execution.set_flags(outcome.flags, outcome_flags);
    execution.write_register(operands.reg, left, width);
    execution.replace(operands.rm, left, static_cast<std::uint32_t>(outcome.value), width);
}

void compare_and_exchange(Execution& execution) {
    const unsigned width = execution.width();
    const ModRm operands = execution.mod_rm();
    const std::uint32_t before = execution.load(operands.rm, width);
    const Outcome outcome =
        calculate(Operation::compare, execution.read_register(rax, width), before, false, width);
    execution.set_flags(outcome.flags, outcome_flags);
    if ((outcome.flags & flag_zero) != 0) {
        execution.replace(operands.rm, before, execution.read_register(operands.reg, width), width);
    } else {
        // It writes in any case: the old value.
        execution.replace(operands.rm, before, before, width);
        execution.write_register(rax, before, width);
    }
}

} // namespace previrt::start_up
