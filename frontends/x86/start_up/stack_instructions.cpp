// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/start_up/instructions.hpp"
#include "frontends/x86/start_up/segmentation.hpp"

namespace previrt::start_up {

namespace {

// ES, CS, SS and DS have opcodes of one byte, FS and GS of two.
unsigned segment_of(std::uint8_t opcode) {
    return (opcode >> 3U) & 7U;
}

} // namespace

void push_register(Execution& execution) {
    const unsigned width = execution.operand_width;
    execution.push(execution.read_register(execution.opcode & 7U, width), width);
}

void pop_register(Execution& execution) {
    const unsigned width = execution.operand_width;
    execution.write_register(execution.opcode & 7U, execution.pop(width), width);
}

void push_immediate(Execution& execution) {
    const unsigned width = execution.operand_width;
    execution.push(execution.opcode == 0x6a ? execution.code_signed_byte() : execution.code_number(width),
                   width);
}

// An operand that ESP addresses is where ESP points after the pop.
void pop_operand(Execution& execution) {
    const unsigned width = execution.operand_width;
    const std::uint32_t value = execution.pop(width);
    const ModRm operands = execution.mod_rm();
    if (operands.reg != 0) {
        execution.refuse("an unknown opcode");
        return;
    }
    execution.store(operands.rm, value, width);
}

void push_segment(Execution& execution) {
    execution.push(execution.processor.segments[segment_of(execution.opcode)].selector,
                   execution.operand_width);
}

void pop_segment(Execution& execution) {
    const std::uint32_t selector = execution.pop(execution.operand_width);
    load_segment(execution, segment_of(execution.opcode), static_cast<std::uint16_t>(selector));
}

void push_flags(Execution& execution) {
    constexpr std::uint64_t hidden = flag_resume | flag_virtual_8086;
    execution.push(static_cast<std::uint32_t>(execution.processor.rflags & ~hidden), execution.operand_width);
}

void pop_flags(Execution& execution) {
    const unsigned width = execution.operand_width;
    load_flags(execution, execution.pop(width), width);
}

void load_flags(Execution& execution, std::uint32_t value, unsigned width) {
    constexpr std::uint64_t low = 0x0dd5 | flag_interrupt | flag_iopl | flag_nested_task;
    constexpr std::uint64_t high = flag_resume | flag_alignment | flag_identification;
    if ((value & flag_trap) != 0) {
        execution.refuse("single steps are not interpreted");
        return;
    }
    const std::uint64_t loaded = value & ~std::uint64_t{flag_resume};
    execution.set_flags(loaded, width == 2 ? low : low | high);
}

void push_all(Execution& execution) {
    const unsigned width = execution.operand_width;
    const std::uint32_t stack = execution.read_register(rsp, width);
    for (unsigned number = 0; number < 8; ++number) {
        execution.push(number == rsp ? stack : execution.read_register(number, width), width);
    }
}

void pop_all(Execution& execution) {
    const unsigned width = execution.operand_width;
    for (unsigned number = 8; number-- != 0;) {
        const std::uint32_t value = execution.pop(width);
        if (number != rsp) {
            execution.write_register(number, value, width);
        }
    }
}

void leave_frame(Execution& execution) {
    const unsigned stack_width = execution.stack_width();
    execution.write_register(rsp, execution.read_register(rbp, stack_width), stack_width);
    execution.write_register(rbp, execution.pop(execution.operand_width), execution.operand_width);
}

} // namespace previrt::start_up
