// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/start_up/instructions.hpp"
#include "frontends/x86/start_up/segmentation.hpp"

namespace previrt::start_up {

namespace {

std::uint32_t as_wide_as_operand(const Execution& execution, std::uint32_t offset) {
    return execution.operand_width == 2 ? offset & 0xffffU : offset;
}

void jump_by(Execution& execution, std::uint32_t distance) {
    execution.jump(as_wide_as_operand(execution, execution.next + distance));
}

struct FarPointer {
    std::uint16_t selector;
    std::uint32_t offset;
};

FarPointer read_far_pointer(Execution& execution) {
    const std::uint32_t offset = execution.code_number(execution.operand_width);
    return {.selector = static_cast<std::uint16_t>(execution.code_number(2)), .offset = offset};
}

FarPointer load_far_pointer_at(Execution& execution, const Operand& operand) {
    if (!operand.is_memory) {
        execution.fault(invalid_opcode, "a far pointer in a register");
        return {};
    }
    const unsigned width = execution.operand_width;
    const std::uint32_t offset = execution.load(operand, width);
    const std::uint32_t selector = execution.load(execution.behind(operand.address, width), 2);
    return {.selector = static_cast<std::uint16_t>(selector), .offset = offset};
}

// In 64-bit mode the new code would find a frame of 32 bits: only a jump or a return leads there.
void call_to(Execution& execution, FarPointer target) {
    const unsigned width = execution.operand_width;
    execution.push(execution.processor.segments[segment_cs].selector, width);
    execution.push(execution.next, width);
    enter_code_segment(execution, target.selector, target.offset);
    if (execution.ending() == Ending::long_mode) {
        execution.refuse("a far call to 64-bit code");
    }
}

void call(Execution& execution, std::uint32_t offset) {
    execution.push(execution.next, execution.operand_width);
    execution.jump(offset);
}

void release(Execution& execution, std::uint32_t bytes) {
    execution.add_to_register(rsp, bytes, execution.stack_width());
}

// A return to an outer level would load SS too.
bool stays_at_level_0(Execution& execution, std::uint32_t selector) {
    if (execution.processor.is_protected() && (selector & 3U) != 0) {
        execution.refuse("a return to another level");
        return false;
    }
    return true;
}

} // namespace

void jump_short(Execution& execution) {
    jump_by(execution, execution.code_signed_byte());
}

void jump_near(Execution& execution) {
    const std::uint32_t distance = execution.code_number(execution.operand_width);
    jump_by(execution, distance);
}

void jump_far(Execution& execution) {
    const FarPointer target = read_far_pointer(execution);
    enter_code_segment(execution, target.selector, target.offset);
}

void jump_if_short(Execution& execution) {
    const std::uint32_t distance = execution.code_signed_byte();
    if (execution.condition(execution.opcode)) {
        jump_by(execution, distance);
    }
}

void jump_if_near(Execution& execution) {
    const std::uint32_t distance = execution.code_number(execution.operand_width);
    if (execution.condition(execution.opcode)) {
        jump_by(execution, distance);
    }
}

void loop(Execution& execution) {
    constexpr std::uint8_t jcxz = 0xe3;
    constexpr std::uint8_t plain = 0xe2;
    const std::uint8_t opcode = execution.opcode;
    const std::uint32_t distance = execution.code_signed_byte();
    if (opcode != jcxz) {
        execution.add_to_register(rcx, ~std::uint32_t{0}, execution.address_width);
    }
    const bool is_zero = execution.read_register(rcx, execution.address_width) == 0;
    const bool wants_equal = (opcode & 1U) != 0;
    const bool jumps =
        opcode == jcxz ? is_zero : !is_zero && (opcode == plain || execution.flag(flag_zero) == wants_equal);
    if (jumps) {
        jump_by(execution, distance);
    }
}

void call_near(Execution& execution) {
    const std::uint32_t distance = execution.code_number(execution.operand_width);
    call(execution, as_wide_as_operand(execution, execution.next + distance));
}

void call_far(Execution& execution) {
    call_to(execution, read_far_pointer(execution));
}

void return_near(Execution& execution) {
    const bool releases = (execution.opcode & 1U) == 0;
    const std::uint32_t bytes = releases ? execution.code_number(2) : 0;
    execution.jump(execution.pop(execution.operand_width));
    release(execution, bytes);
}

void return_far(Execution& execution) {
    const bool releases = (execution.opcode & 1U) == 0;
    const std::uint32_t bytes = releases ? execution.code_number(2) : 0;
    const std::uint32_t offset = execution.pop(execution.operand_width);
    const auto selector = static_cast<std::uint16_t>(execution.pop(execution.operand_width));
    if (stays_at_level_0(execution, selector)) {
        release(execution, bytes);
        enter_code_segment(execution, selector, offset);
    }
}

void return_from_interrupt(Execution& execution) {
    const unsigned width = execution.operand_width;
    const bool ends_task = execution.processor.is_protected() && execution.flag(flag_nested_task);
    const std::uint32_t offset = execution.pop(width);
    const auto selector = static_cast<std::uint16_t>(execution.pop(width));
    const std::uint32_t flags = execution.pop(width);
    const bool to_virtual_8086 =
        execution.processor.is_protected() && width == 4 && (flags & flag_virtual_8086) != 0;
    if (ends_task || to_virtual_8086) {
        execution.refuse("iret to another task or to virtual-8086 mode");
        return;
    }
    if (stays_at_level_0(execution, selector)) {
        load_flags(execution, flags, width);
        enter_code_segment(execution, selector, offset);
    }
}

void transfer_group(Execution& execution) {
    constexpr std::uint8_t near_call = 2;
    constexpr std::uint8_t far_call = 3;
    constexpr std::uint8_t near_jump = 4;
    constexpr std::uint8_t far_jump = 5;
    constexpr std::uint8_t push = 6;
    const unsigned width = execution.operand_width;
    const ModRm operands = execution.mod_rm();
    switch (operands.reg) {
    case 0:
    case 1:
        step_operand(execution, operands);
        break;
    case near_call:
        call(execution, execution.load(operands.rm, width));
        break;
    case far_call:
        call_to(execution, load_far_pointer_at(execution, operands.rm));
        break;
    case near_jump:
        execution.jump(execution.load(operands.rm, width));
        break;
    case far_jump: {
        const FarPointer target = load_far_pointer_at(execution, operands.rm);
        enter_code_segment(execution, target.selector, target.offset);
        break;
    }
    case push:
        execution.push(execution.load(operands.rm, width), width);
        break;
    default:
        execution.refuse("an unknown opcode");
    }
}

} // namespace previrt::start_up
