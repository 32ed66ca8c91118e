// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/start_up/instructions.hpp"
#include "frontends/x86/start_up/segmentation.hpp"

namespace previrt::start_up {

namespace {

// les c4, lds c5; lss, lfs and lgs have the register's number.
unsigned segment_of_pointer(std::uint8_t opcode) {
    switch (opcode) {
    case 0xc4:
        return segment_es;
    case 0xc5:
        return segment_ds;
    default:
        return opcode & 7U;
    }
}

} // namespace

void move_to_operand(Execution& execution) {
    const unsigned width = execution.width();
    const ModRm operands = execution.mod_rm();
    execution.store(operands.rm, execution.read_register(operands.reg, width), width);
}

void move_to_register(Execution& execution) {
    const unsigned width = execution.width();
    const ModRm operands = execution.mod_rm();
    execution.write_register(operands.reg, execution.load(operands.rm, width), width);
}

void move_immediate(Execution& execution) {
    const unsigned width = execution.width();
    const ModRm operands = execution.mod_rm();
    if (operands.reg != 0) {
        execution.refuse("an unknown opcode");
        return;
    }
    execution.store(operands.rm, execution.code_number(width), width);
}

void move_immediate_to_byte(Execution& execution) {
    execution.write_register(execution.opcode & 7U, execution.code_byte(), 1);
}

void move_immediate_to_whole(Execution& execution) {
    const unsigned width = execution.operand_width;
    execution.write_register(execution.opcode & 7U, execution.code_number(width), width);
}

void move_accumulator(Execution& execution) {
    const unsigned width = execution.width();
    const Address address = execution.direct_address();
    if ((execution.opcode & 2U) != 0) {
        execution.store(address, execution.read_register(rax, width), width);
    } else {
        execution.write_register(rax, execution.load(address, width), width);
    }
}

void move_from_segment(Execution& execution) {
    const ModRm operands = execution.mod_rm();
    if (operands.reg > segment_gs) {
        execution.fault(invalid_opcode, "there is no such segment register");
        return;
    }
    const unsigned width = operands.rm.is_memory ? 2 : execution.operand_width;
    execution.store(operands.rm, execution.processor.segments[operands.reg].selector, width);
}

void move_to_segment(Execution& execution) {
    const ModRm operands = execution.mod_rm();
    if (operands.reg > segment_gs || operands.reg == segment_cs) {
        execution.fault(invalid_opcode, "a move to CS, or to no segment register");
        return;
    }
    load_segment(execution, operands.reg, static_cast<std::uint16_t>(execution.load(operands.rm, 2)));
}

void move_extended(Execution& execution) {
    const unsigned from = (execution.opcode & 1U) != 0 ? 2 : 1;
    const bool extends_sign = (execution.opcode & 8U) != 0;
    const ModRm operands = execution.mod_rm();
    std::uint32_t value = execution.load(operands.rm, from);
    if (extends_sign) {
        value = from == 1 ? static_cast<std::uint32_t>(static_cast<std::int8_t>(value))
                          : static_cast<std::uint32_t>(static_cast<std::int16_t>(value));
    }
    execution.write_register(operands.reg, value, execution.operand_width);
}

void move_if(Execution& execution) {
    const unsigned width = execution.operand_width;
    const ModRm operands = execution.mod_rm();
    const std::uint32_t value = execution.load(operands.rm, width);
    if (execution.condition(execution.opcode)) {
        execution.write_register(operands.reg, value, width);
    }
}

void set_if(Execution& execution) {
    const ModRm operands = execution.mod_rm();
    execution.store(operands.rm, execution.condition(execution.opcode) ? 1 : 0, 1);
}

void load_address(Execution& execution) {
    const ModRm operands = execution.mod_rm();
    if (!operands.rm.is_memory) {
        execution.fault(invalid_opcode, "lea of a register");
        return;
    }
    execution.write_register(operands.reg, operands.rm.address.offset, execution.operand_width);
}

void load_far_pointer(Execution& execution) {
    const unsigned width = execution.operand_width;
    const ModRm operands = execution.mod_rm();
    if (!operands.rm.is_memory) {
        execution.fault(invalid_opcode, "a far pointer in a register");
        return;
    }
    const std::uint32_t offset = execution.load(operands.rm, width);
    const std::uint32_t selector = execution.load(execution.behind(operands.rm.address, width), 2);
    const unsigned segment = segment_of_pointer(execution.opcode);
    load_segment(execution, segment, static_cast<std::uint16_t>(selector));
    execution.write_register(operands.reg, offset, width);
}

void exchange(Execution& execution) {
    const unsigned width = execution.width();
    const ModRm operands = execution.mod_rm();
    const std::uint32_t before = execution.load(operands.rm, width);
    const std::uint32_t other = execution.read_register(operands.reg, width);
    // With memory it locks without a prefix.
    execution.is_locked = execution.is_locked || operands.rm.is_memory;
    execution.write_register(operands.reg, before, width);
    execution.replace(operands.rm, before, other, width);
}

void exchange_accumulator(Execution& execution) {
    const unsigned number = execution.opcode & 7U;
    const unsigned width = execution.operand_width;
    const std::uint32_t before = execution.read_register(rax, width);
    execution.write_register(rax, execution.read_register(number, width), width);
    execution.write_register(number, before, width);
}

void translate_byte(Execution& execution) {
    const std::uint32_t table = execution.read_register(rbx, execution.address_width);
    const Address base = {.segment = execution.data_segment(segment_ds), .offset = table};
    execution.write_register(rax, execution.load(execution.behind(base, execution.read_register(rax, 1)), 1),
                             1);
}

} // namespace previrt::start_up
