// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/instructions/memory_instruction.hpp"

#include "frontends/x86/instructions/instruction_reader.hpp"
#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

using Action = MemoryInstruction::Action;

namespace {

// The properties of an opcode, without prefixes.
struct Form {
    Action action;
    Operation operation;
    bool keeps_result = true;
    unsigned immediate = 0; // bytes; of a full operand at most 4
    unsigned access = 0;    // bytes, if the opcode fixes them
    bool extends_sign = false;
    bool has_operand = true;
    unsigned group = no_group; // the required ModRM.reg

    static constexpr unsigned no_group = 8;
};

constexpr unsigned full_immediate = 4;

// For two-byte opcodes.
std::optional<Form> extending_form(std::uint8_t opcode) {
    Form form{.action = Action::load, .operation = Operation::add};
    form.extends_sign = (opcode & 8U) != 0;
    form.access = (opcode & 1U) != 0 ? 2 : 1;
    return (opcode & 0xf6U) == 0xb6 ? std::optional(form) : std::nullopt;
}

std::optional<Form> form_of(std::uint8_t opcode, unsigned group) {
    Form form{.action = Action::store, .operation = Operation::bitwise_and};
    const auto of_opcode = static_cast<Operation>((opcode >> 3U) & 7U);
    if (opcode < 0x40 && (opcode & 7U) < 4) {
        form.operation = of_opcode;
        form.keeps_result = of_opcode != Operation::compare;
        form.action = (opcode & 2U) == 0 ? Action::calculate_in_memory : Action::calculate_in_register;
        return form;
    }
    switch (opcode) {
    case 0x63:
        form.action = Action::load;
        form.access = 4;
        form.extends_sign = true;
        return form;
    case 0x80:
    case 0x81:
    case 0x83:
        form.action = Action::calculate_in_memory;
        form.operation = static_cast<Operation>(group);
        form.keeps_result = form.operation != Operation::compare;
        form.immediate = opcode == 0x81 ? full_immediate : 1;
        return form;
    case 0x84:
    case 0x85:
        form.action = Action::calculate_in_memory;
        form.keeps_result = false;
        return form;
    case 0x86:
    case 0x87:
        form.action = Action::exchange;
        return form;
    case 0x88:
    case 0x89:
        return form;
    case 0x8a:
    case 0x8b:
        form.action = Action::load;
        return form;
    case 0xa4:
    case 0xa5:
        form.action = Action::move_string;
        form.has_operand = false;
        return form;
    case 0xaa:
    case 0xab:
        form.action = Action::store_string;
        form.has_operand = false;
        return form;
    case 0xc6:
    case 0xc7:
        form.immediate = (opcode & 1U) != 0 ? full_immediate : 1;
        form.group = 0;
        return form;
    case 0xf6:
    case 0xf7:
        form.action = Action::calculate_in_memory;
        form.keeps_result = false;
        form.immediate = (opcode & 1U) != 0 ? full_immediate : 1;
        form.group = 0;
        return form;
    default:
        return {};
    }
}

unsigned operand_width(const Prefixes& prefixes) {
    if (prefixes.rex_w) {
        return 8;
    }
    return prefixes.operand_size ? 2 : 4;
}

Privilege privilege() {
    return vcpu.cpl == 3 ? Privilege::user : Privilege::supervisor;
}

std::uint64_t sign_extended(std::uint64_t value, unsigned width) {
    const unsigned unused = 64 - (8 * width);
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
}

std::uint64_t step(unsigned width) {
    return (vcpu.registers.rflags & flag_direction) != 0 ? 0 - std::uint64_t{width} : std::uint64_t{width};
}

// False: more elements remain.
bool execute_string(const MemoryInstruction& instruction) {
    auto& general = vcpu.registers.general;
    if (instruction.repeats && general[rcx] == 0) {
        return true;
    }
    const unsigned width = instruction.width;
    const bool is_move = instruction.action == Action::move_string;
    std::uint64_t value = general[rax];
    // Checked first: a page fault must not lose an element that a device has given.
    if (!may_write_guest(general[rdi], width, privilege()) ||
        (is_move && !read_guest(instruction.effective, &value, width, privilege())) ||
        !write_guest(general[rdi], &value, width, privilege())) {
        return true;
    }
    general[rsi] += is_move ? step(width) : 0;
    general[rdi] += step(width);
    return !instruction.repeats || --general[rcx] == 0;
}

void calculate_with_memory(const MemoryInstruction& instruction, std::uint64_t memory) {
    const bool to_memory = instruction.action == Action::calculate_in_memory;
    const std::uint64_t other = instruction.has_immediate
                                    ? instruction.immediate
                                    : read_register(instruction.reg, instruction.width, instruction.rex);
    const Outcome outcome =
        calculate(instruction.operation, to_memory ? memory : other, to_memory ? other : memory,
                  (vcpu.registers.rflags & flag_carry) != 0, instruction.width);
    if (instruction.keeps_result && to_memory &&
        !write_guest(instruction.effective, &outcome.value, instruction.width, privilege())) {
        return;
    }
    if (instruction.keeps_result && !to_memory) {
        write_register(instruction.reg, outcome.value, instruction.width, instruction.rex);
    }
    vcpu.registers.rflags = (vcpu.registers.rflags & ~outcome_flags) | outcome.flags;
}

void execute_store(const MemoryInstruction& instruction) {
    const std::uint64_t value = instruction.has_immediate
                                    ? instruction.immediate
                                    : read_register(instruction.reg, instruction.width, instruction.rex);
    (void)write_guest(instruction.effective, &value, instruction.width, privilege());
}

// All but stores and strings.
void execute_with_read(const MemoryInstruction& instruction) {
    const unsigned width = instruction.width;
    std::uint64_t memory = 0;
    if ((instruction.writes_memory() && !may_write_guest(instruction.effective, width, privilege())) ||
        !read_guest(instruction.effective, &memory, width, privilege())) {
        return;
    }
    if (instruction.action == Action::load) {
        write_register(instruction.reg, instruction.extends_sign ? sign_extended(memory, width) : memory,
                       instruction.register_width, instruction.rex);
    } else if (instruction.action == Action::exchange) {
        const std::uint64_t value = read_register(instruction.reg, width, instruction.rex);
        if (write_guest(instruction.effective, &value, width, privilege())) {
            write_register(instruction.reg, memory, width, instruction.rex);
        }
    } else {
        calculate_with_memory(instruction, memory);
    }
}

} // namespace

bool MemoryInstruction::writes_memory() const {
    return action != Action::load && action != Action::calculate_in_register && keeps_result;
}

std::optional<MemoryInstruction> decode_memory_instruction(std::uint64_t address,
                                                           std::span<const std::uint8_t> bytes) {
    InstructionReader reader(bytes);
    const Prefixes prefixes = reader.prefixes();
    constexpr std::uint8_t two_bytes = 0x0f;
    std::uint8_t opcode = reader.byte();
    const bool is_extending = opcode == two_bytes;
    opcode = is_extending ? reader.byte() : opcode;
    const std::size_t at = reader.position();
    const unsigned group = at < bytes.size() ? (bytes[at] >> 3U) & 7U : 0;
    const std::optional<Form> form = is_extending ? extending_form(opcode) : form_of(opcode, group);
    if (!form || (form->group != Form::no_group && form->group != group)) {
        return {};
    }
    const unsigned full = operand_width(prefixes);
    const bool is_byte = !is_extending && form->access == 0 && (opcode & 1U) == 0;
    MemoryInstruction instruction{};
    instruction.action = form->action;
    instruction.operation = form->operation;
    instruction.keeps_result = form->keeps_result;
    instruction.extends_sign = form->extends_sign;
    instruction.repeats = prefixes.repeats;
    instruction.rex = prefixes.rex;
    instruction.register_width = is_byte ? 1 : full;
    instruction.width = form->access != 0 ? form->access : instruction.register_width;
    ModRmOperand operand{.reg = 0, .rm = 0, .is_memory = true, .memory = {}};
    if (form->has_operand) {
        operand = reader.mod_rm(prefixes);
    } else {
        operand.memory.base = rsi;
        operand.memory.segment = prefixes.segment;
    }
    if (form->immediate != 0) {
        instruction.has_immediate = true;
        const unsigned length = form->immediate == full_immediate && full == 2 ? 2 : form->immediate;
        instruction.immediate = reader.signed_bytes(length);
    }
    // With 32-bit addresses, a string's registers would wrap too.
    if (!operand.is_memory || reader.is_beyond() || (!form->has_operand && prefixes.address_size)) {
        return {};
    }
    instruction.reg = operand.reg;
    instruction.next = address + reader.position();
    instruction.effective = effective_address(operand.memory, instruction.next);
    return instruction;
}

void execute_memory_instruction(const MemoryInstruction& instruction) {
    bool is_done = true;
    switch (instruction.action) {
    case Action::move_string:
    case Action::store_string:
        is_done = execute_string(instruction);
        break;
    case Action::store:
        execute_store(instruction);
        break;
    default:
        execute_with_read(instruction);
    }
    if (is_done && !exception_is_raised()) {
        vcpu.registers.rip = instruction.next;
    }
}

} // namespace previrt
