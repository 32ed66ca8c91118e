// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/descriptors.hpp"
#include "frontends/x86/start_up/instructions.hpp"
#include "frontends/x86/start_up/model_registers.hpp"

namespace previrt::start_up {

namespace {

// The opcodes ec to ef take the port from DX, e4 to e7 from the instruction.
std::uint16_t port_of(Execution& execution) {
    const bool is_in_dx = (execution.opcode & 8U) != 0;
    return static_cast<std::uint16_t>(is_in_dx ? execution.read_register(rdx, 2) : execution.code_byte());
}

// A processor keeps three bytes of the base if the operand has 16 bits.
constexpr std::uint32_t three_bytes = 0xffffff;

void load_table(Execution& execution, Address address, DescriptorTable& table) {
    const std::uint32_t limit = execution.load(address, 2);
    const std::uint32_t base = execution.load(execution.behind(address, 2), 4);
    table = {.base = execution.operand_width == 2 ? base & three_bytes : base,
             .limit = static_cast<std::uint16_t>(limit)};
}

void store_table(Execution& execution, Address address, const DescriptorTable& table) {
    const auto base = static_cast<std::uint32_t>(table.base);
    execution.store(address, table.limit, 2);
    execution.store(execution.behind(address, 2), execution.operand_width == 2 ? base & three_bytes : base,
                    4);
}

void store_machine_status(Execution& execution, const Operand& operand) {
    execution.store(operand, static_cast<std::uint32_t>(execution.processor.cr0),
                    operand.is_memory ? 2 : execution.operand_width);
}

// It can set PE but not clear it.
void load_machine_status(Execution& execution, const Operand& operand) {
    constexpr std::uint64_t loaded = cr0_pe | cr0_mp | cr0_em | cr0_ts;
    const std::uint64_t old = execution.processor.cr0;
    load_cr0(execution, (old & ~(loaded & ~std::uint64_t{cr0_pe})) | (execution.load(operand, 2) & loaded));
}

std::uint64_t read_pair(const Execution& execution) {
    return execution.read_register(rax, 4) | (std::uint64_t{execution.read_register(rdx, 4)} << 32U);
}

void write_pair(Execution& execution, std::uint64_t value) {
    execution.write_register(rax, static_cast<std::uint32_t>(value), 4);
    execution.write_register(rdx, static_cast<std::uint32_t>(value >> 32U), 4);
}

} // namespace

void halt(Execution& execution) {
    execution.end(Ending::halted);
}

void do_nothing(Execution& /*execution*/) {}

void do_nothing_with_operand(Execution& execution) {
    execution.mod_rm();
}

void fence(Execution& execution) {
    const ModRm operands = execution.mod_rm();
    if (operands.rm.is_memory || operands.reg < 5 || execution.repeat != Repeat::none) {
        execution.refuse("an unknown opcode");
    }
}

void read_port(Execution& execution) {
    const unsigned width = execution.width();
    const std::uint16_t port = port_of(execution);
    std::uint32_t value = 0;
    if (execution.failed()) {
        return;
    }
    if (!execution.surroundings.read_port(execution.surroundings.context, port, width, value)) {
        execution.refuse("a read of a port that is not modelled");
        return;
    }
    execution.write_register(rax, value, width);
}

void write_port(Execution& execution) {
    const unsigned width = execution.width();
    const std::uint16_t port = port_of(execution);
    execution.check_lock();
    if (!execution.failed() && !execution.surroundings.write_port(execution.surroundings.context, port, width,
                                                                  execution.read_register(rax, width))) {
        execution.refuse("a write to a port that is not modelled");
    }
}

void identify(Execution& execution) {
    const backend::CpuidLeaf leaf =
        execution.surroundings.cpuid(execution.surroundings.context, execution.processor,
                                     execution.read_register(rax, 4), execution.read_register(rcx, 4));
    execution.write_register(rax, leaf.eax, 4);
    execution.write_register(rbx, leaf.ebx, 4);
    execution.write_register(rcx, leaf.ecx, 4);
    execution.write_register(rdx, leaf.edx, 4);
}

void read_time_stamp(Execution& execution) {
    constexpr std::uint32_t time_stamp_counter = 0x10;
    write_pair(execution, load_model_register(execution, time_stamp_counter));
}

void read_model_register(Execution& execution) {
    write_pair(execution, load_model_register(execution, execution.read_register(rcx, 4)));
}

void write_model_register(Execution& execution) {
    execution.check_lock();
    store_model_register(execution, execution.read_register(rcx, 4), read_pair(execution));
}

// Of these, only what empties LDTR.
void local_table_group(Execution& execution) {
    constexpr std::uint8_t lldt = 2;
    const ModRm operands = execution.mod_rm();
    const auto selector = static_cast<std::uint16_t>(execution.load(operands.rm, 2));
    if (operands.reg != lldt || !execution.processor.is_protected()) {
        execution.refuse("an unknown opcode");
        return;
    }
    if (!is_null(selector)) {
        execution.refuse("lldt of a selector that is not null");
        return;
    }
    execution.processor.ldt = {.base = 0, .limit = 0, .selector = selector, .attributes = 0};
}

void table_group(Execution& execution) {
    enum : std::uint8_t { sgdt, sidt, lgdt, lidt, smsw, unused, lmsw, invlpg };
    const ModRm operands = execution.mod_rm();
    StartingProcessor& processor = execution.processor;
    if (operands.reg == smsw) {
        store_machine_status(execution, operands.rm);
        return;
    }
    if (operands.reg == lmsw) {
        load_machine_status(execution, operands.rm);
        return;
    }
    if (!operands.rm.is_memory || operands.reg == unused) {
        execution.refuse("an unknown opcode");
        return;
    }
    switch (operands.reg) {
    case sgdt:
    case sidt:
        store_table(execution, operands.rm.address, operands.reg == sgdt ? processor.gdt : processor.idt);
        break;
    case lgdt:
    case lidt:
        load_table(execution, operands.rm.address, operands.reg == lgdt ? processor.gdt : processor.idt);
        break;
    default: // invlpg: the surroundings keep no translations
        break;
    }
}

} // namespace previrt::start_up
