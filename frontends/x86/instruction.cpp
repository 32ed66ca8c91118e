// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/instruction.hpp"

#include "frontends/x86/instruction_reader.hpp"

namespace previrt {

namespace {

bool has_modrm(SiteKind kind) {
    const SiteKindInfo* const info = find_site_kind(static_cast<std::uint8_t>(kind));
    return info != nullptr && info->encodings[0].modrm != ModRm::none;
}

unsigned width_of(SiteKind kind, std::uint8_t opcode, const Prefixes& prefixes) {
    switch (kind) {
    case SiteKind::in:
    case SiteKind::out:
    case SiteKind::ins:
    case SiteKind::outs:
        if ((opcode & 1U) == 0) {
            return 1;
        }
        return prefixes.operand_size ? 2 : 4;
    case SiteKind::pushf:
    case SiteKind::popf:
    case SiteKind::push_segment:
    case SiteKind::pop_segment:
        return prefixes.operand_size ? 2 : 8;
    case SiteKind::mmio_read:
    case SiteKind::mmio_write:
        if ((opcode & 1U) == 0) {
            return 1;
        }
        [[fallthrough]];
    default:
        if (prefixes.rex_w) {
            return 8;
        }
        return prefixes.operand_size ? 2 : 4;
    }
}

} // namespace

std::optional<Instruction> decode_instruction(SiteKind kind, std::uint64_t address,
                                              std::span<const std::uint8_t> bytes) {
    Instruction instruction{};
    instruction.kind = kind;
    instruction.address = address;
    instruction.next = address + bytes.size();
    if (bytes.empty()) {
        return {};
    }
    InstructionReader reader(bytes);
    const Prefixes prefixes = reader.prefixes();
    instruction.repeats = prefixes.repeats;
    instruction.rex = prefixes.rex;
    instruction.opcode = reader.byte();
    if (instruction.opcode == 0x0f) {
        instruction.opcode = reader.byte();
        if (instruction.opcode == 0x38) {
            instruction.opcode = reader.byte();
        }
    }
    instruction.width = width_of(kind, instruction.opcode, prefixes);
    if (has_modrm(kind)) {
        const ModRmOperand operand = reader.mod_rm(prefixes);
        instruction.has_operand = true;
        instruction.operand_is_memory = operand.is_memory;
        instruction.reg = operand.reg;
        instruction.rm = operand.rm;
        if (operand.is_memory) {
            instruction.effective = effective_address(operand, prefixes, instruction.next);
        }
    }
    instruction.immediate = bytes[bytes.size() - 1];
    if (kind == SiteKind::lret && instruction.opcode == 0xca && bytes.size() >= 2) {
        instruction.immediate =
            static_cast<std::uint16_t>(bytes[bytes.size() - 2] | (bytes[bytes.size() - 1] << 8U));
    }
    return instruction;
}

} // namespace previrt
