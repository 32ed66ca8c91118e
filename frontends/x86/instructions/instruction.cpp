// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/instructions/instruction.hpp"

#include "inplace-vmm/vcpu.hpp"

#include <array>
#include <bit>

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
        return prefixes.operand_size && !prefixes.rex_w ? 2 : 4;
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

// The element that a string instruction moves next. The destination is always in ES, whose base is 0.
MemoryOperand string_operand(SiteKind kind, const Prefixes& prefixes) {
    MemoryOperand operand{};
    const bool is_destination = kind == SiteKind::ins;
    operand.base = is_destination ? rdi : rsi;
    operand.segment = is_destination ? std::uint8_t{0} : prefixes.segment;
    operand.has_32_bits = prefixes.address_size;
    return operand;
}

// From the bytes alone: independent of the address and of registers.
std::optional<Instruction> decode_bytes(SiteKind kind, std::span<const std::uint8_t> bytes) {
    Instruction instruction{};
    instruction.kind = kind;
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
        instruction.memory = operand.memory;
    } else if (kind == SiteKind::ins || kind == SiteKind::outs) {
        instruction.memory = string_operand(kind, prefixes);
    }
    instruction.immediate = bytes[bytes.size() - 1];
    if (kind == SiteKind::lret && instruction.opcode == 0xca && bytes.size() >= 2) {
        instruction.immediate =
            static_cast<std::uint16_t>(bytes[bytes.size() - 2] | (bytes[bytes.size() - 1] << 8U));
    }
    return instruction;
}

// `behind` is the address of the next instruction.
void locate_operand(Instruction& instruction, std::uint64_t behind) {
    if (instruction.operand_is_memory) {
        instruction.effective = effective_address(instruction.memory, behind);
    }
}

// Caches the few sites that are called most of the time.
struct DecodedSite {
    KnownSite site;
    Instruction instruction;
    unsigned length; // of its bytes
};
constexpr std::size_t decoded_count = 256;
[[gnu::section(".data.cache")]] constinit DecodedSite decoded_sites[decoded_count]{};

bool is_same(const KnownSite& one, const KnownSite& other) {
    using Words = std::array<std::uint64_t, sizeof(KnownSite) / sizeof(std::uint64_t)>;
    const auto first = std::bit_cast<Words>(one);
    const auto second = std::bit_cast<Words>(other);
    return ((first[0] ^ second[0]) | (first[1] ^ second[1]) | (first[2] ^ second[2]) |
            (first[3] ^ second[3])) == 0;
}

} // namespace

std::optional<Instruction> decode_instruction(SiteKind kind, std::uint64_t address,
                                              std::span<const std::uint8_t> bytes) {
    std::optional<Instruction> instruction = decode_bytes(kind, bytes);
    if (instruction) {
        instruction->address = address;
        instruction->next = address + bytes.size();
        locate_operand(*instruction, instruction->next);
    }
    return instruction;
}

const Instruction* decode_site(const KnownSite& site, std::uint64_t address) {
    DecodedSite& decoded = decoded_sites[(site.address ^ (site.address >> 8U)) % decoded_count];
    if (!is_same(decoded.site, site)) {
        const std::optional<Instruction> instruction = decode_bytes(site.kind(), site.instruction());
        if (!instruction) {
            return nullptr;
        }
        decoded = {.site = site,
                   .instruction = *instruction,
                   .length = site.padding_in_front() + site.record.instruction_length()};
        decoded.instruction.annotation = site.record.operand;
    }
    Instruction& instruction = decoded.instruction;
    instruction.address = address;
    instruction.next = address + site.record.site_length(); // padding behind it was overwritten too
    locate_operand(instruction, address + decoded.length);
    return &instruction;
}

} // namespace previrt
