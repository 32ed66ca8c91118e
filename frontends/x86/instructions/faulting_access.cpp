// SPDX-License-Identifier: BSD-2-Clause
// A list of the instructions that have one access at a time, of at most a vector. All others are in doubt.
#include "frontends/x86/instructions/faulting_access.hpp"

#include "frontends/x86/instructions/instruction_reader.hpp"
#include "frontends/x86/instructions/memory_use.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

namespace {

constexpr unsigned word = 8;

// Bytes of the immediate behind an instruction's operand. nullopt: the instruction is not in the list.
std::optional<unsigned> immediate_of_primary(const Opcode& opcode, unsigned group) {
    const std::uint8_t byte = opcode.byte;
    const unsigned immediate = opcode.prefixes.operand_size && !opcode.prefixes.rex_w ? 2 : 4;
    if (byte < 0x40) {
        return (byte & 7U) < 4 ? std::optional(0U) : std::nullopt;
    }
    switch (byte) {
    case 0x63:
    case 0x84:
    case 0x85:
    case 0x86:
    case 0x87:
    case 0x88:
    case 0x89:
    case 0x8a:
    case 0x8b:
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return 0;
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xc0:
    case 0xc1:
        return 1;
    case 0x69:
    case 0x81:
        return immediate;
    case 0xc6:
        return group == 0 ? std::optional(1U) : std::nullopt;
    case 0xc7:
        return group == 0 ? std::optional(immediate) : std::nullopt;
    case 0xf6:
        return group < 2 ? 1 : 0;
    case 0xf7:
        return group < 2 ? immediate : 0;
    case 0xfe:
        return group < 2 ? std::optional(0U) : std::nullopt;
    case 0xff: // increments, and near calls, jumps and pushes by way of memory
        return group != 3 && group != 5 && group != 7 ? std::optional(0U) : std::nullopt;
    default:
        return std::nullopt;
    }
}

bool is_arithmetic_of_vectors(std::uint8_t byte) {
    return byte == 0x14 || byte == 0x15 || (byte >= 0x51 && byte <= 0x6d) || (byte >= 0x74 && byte <= 0x76) ||
           (byte >= 0xd1 && byte <= 0xd5) || (byte >= 0xd8 && byte <= 0xe5) ||
           (byte >= 0xe8 && byte <= 0xef) || (byte >= 0xf1 && byte <= 0xf6) || (byte >= 0xf8 && byte <= 0xfe);
}

bool is_listed_of_two_bytes(std::uint8_t byte) {
    if ((byte & 0xf0U) == 0x40 || (byte & 0xf0U) == 0x90 || is_arithmetic_of_vectors(byte)) {
        return true;
    }
    switch (byte) {
    case 0x10:
    case 0x11:
    case 0x12:
    case 0x13:
    case 0x16:
    case 0x17:
    case 0x28:
    case 0x29:
    case 0x2b:
    case 0x2e:
    case 0x2f:
    case 0x6e:
    case 0x6f:
    case 0x7e:
    case 0x7f:
    case 0xaf:
    case 0xb0:
    case 0xb1:
    case 0xb6:
    case 0xb7:
    case 0xbe:
    case 0xbf:
    case 0xc0:
    case 0xc1:
    case 0xc3:
    case 0xd6:
    case 0xe7:
        return true;
    default:
        return false;
    }
}

class Finder {
public:
    Finder(std::span<const std::uint8_t> code, std::uint32_t error_code)
        : reader_(code), code_(code), writes_((error_code & fault_write) != 0) {}

    std::optional<std::uint64_t> find() {
        if (!read_opcode()) {
            return std::nullopt;
        }
        const std::optional<std::uint64_t> address =
            opcode_.map == Map::primary ? find_in_primary() : find_in_two_bytes();
        return reader_.is_beyond() ? std::nullopt : address;
    }

private:
    // Reads only prefixes that leave no doubt: none of a segment, and at most one that selects an operation.
    bool read_opcode() {
        std::size_t prefixes = 0;
        for (const std::uint8_t byte : code_) {
            if (byte == 0x66 || byte == 0xf2 || byte == 0xf3) {
                if (opcode_.prefix != 0) {
                    return false;
                }
                opcode_.prefix = byte;
            } else if (byte != 0xf0) {
                break;
            }
            ++prefixes;
        }
        opcode_.prefixes = reader_.prefixes();
        if (reader_.position() != prefixes + (opcode_.prefixes.rex ? 1U : 0U)) {
            return false;
        }
        opcode_.byte = reader_.byte();
        if (opcode_.byte == 0xc4 || opcode_.byte == 0xc5) {
            return prefixes == 0 && !opcode_.prefixes.rex && read_vex(opcode_.byte == 0xc4);
        }
        if (opcode_.byte == 0x0f) {
            opcode_.map = Map::two_bytes;
            opcode_.byte = reader_.byte();
        }
        return opcode_.map == Map::two_bytes || opcode_.prefix < 0xf2;
    }

    bool read_vex(bool has_three_bytes) {
        constexpr std::uint8_t implied[] = {0, 0x66, 0xf3, 0xf2};
        std::uint8_t last = reader_.byte();
        opcode_.prefixes.rex = true;
        opcode_.prefixes.rex_r = (last & 0x80U) == 0;
        if (has_three_bytes) {
            constexpr unsigned map_mask = 0x1f;
            constexpr unsigned two_byte_map = 1;
            if ((last & map_mask) != two_byte_map) {
                return false;
            }
            opcode_.prefixes.rex_x = (last & 0x40U) == 0;
            opcode_.prefixes.rex_b = (last & 0x20U) == 0;
            last = reader_.byte();
            opcode_.prefixes.rex_w = (last & 0x80U) != 0;
        }
        opcode_.vector = (last & 4U) != 0 ? 32 : 16;
        opcode_.prefix = implied[last & 3U];
        opcode_.map = Map::two_bytes;
        opcode_.byte = reader_.byte();
        // Of the others in this map some have a mask, a state or no vector. 0x12 and 0x16 may duplicate
        // parts.
        const std::uint8_t byte = opcode_.byte;
        return is_arithmetic_of_vectors(byte) || byte == 0x10 || byte == 0x11 || byte == 0x28 ||
               byte == 0x29 || byte == 0x2b || byte == 0x6e || byte == 0x6f || byte == 0x7e || byte == 0x7f ||
               byte == 0xd6 || byte == 0xe7;
    }

    [[nodiscard]] std::optional<std::uint64_t> access(std::uint64_t address, const Use& use) const {
        const bool is_kind = writes_ ? use.writes : use.reads && !use.writes;
        const bool crosses = (address & (page_bytes - 1)) + use.bytes > page_bytes;
        const bool is_certain = use.bytes != 0 && is_kind && !crosses && is_canonical(address);
        return is_certain ? std::optional(address) : std::nullopt;
    }

    std::optional<std::uint64_t> find_in_primary() {
        const std::uint8_t byte = opcode_.byte;
        const std::uint64_t stack = vcpu.registers.general[rsp];
        if (opcode_.prefixes.operand_size &&
            ((byte & 0xf0U) == 0x50 || byte == 0x68 || byte == 0x6a || byte == 0xe8 || byte == 0xff ||
             byte == 0xc2 || byte == 0xc3 || byte == 0xc9)) {
            return std::nullopt;
        }
        if ((byte & 0xf8U) == 0x50) {
            return access(stack - word, store(word));
        }
        if ((byte & 0xf8U) == 0x58 || byte == 0xc3) {
            return access(stack, load(word));
        }
        switch (byte) {
        case 0x6a:
            (void)reader_.signed_bytes(1);
            return access(stack - word, store(word));
        case 0x68:
        case 0xe8:
            (void)reader_.signed_bytes(4);
            return access(stack - word, store(word));
        case 0xc2:
            (void)reader_.signed_bytes(2);
            return access(stack, load(word));
        case 0xc9: // leave
            return access(vcpu.registers.general[rbp], load(word));
        default:
            break;
        }
        const bool pushes_too = byte == 0xff;
        if (!immediate_of_primary(opcode_, 0)) {
            // Whether the rest of a group is in the list, or there is an operand at all, is not known yet.
            return std::nullopt;
        }
        const ModRmOperand operand = reader_.mod_rm(opcode_.prefixes);
        const unsigned group = operand.reg & 7U;
        const std::optional<unsigned> immediate = immediate_of_primary(opcode_, group);
        if (!immediate) {
            return std::nullopt;
        }
        const bool pushes = pushes_too && (group == 2 || group == 6);
        if (pushes && writes_) { // the operand, if it is in memory, was read
            return access(stack - word, store(word));
        }
        return operand.is_memory ? find_operand(operand, *immediate, use_of_memory(opcode_, group))
                                 : std::nullopt;
    }

    std::optional<std::uint64_t> find_in_two_bytes() {
        if (!is_listed_of_two_bytes(opcode_.byte)) {
            return std::nullopt;
        }
        const ModRmOperand operand = reader_.mod_rm(opcode_.prefixes);
        return operand.is_memory ? find_operand(operand, 0, use_of_memory(opcode_, operand.reg & 7U))
                                 : std::nullopt;
    }

    std::optional<std::uint64_t> find_operand(const ModRmOperand& operand, unsigned immediate,
                                              const Use& use) {
        for (unsigned i = 0; i < immediate; ++i) {
            (void)reader_.byte();
        }
        return access(effective_address(operand.memory, vcpu.registers.rip + reader_.position()), use);
    }

    InstructionReader reader_;
    std::span<const std::uint8_t> code_;
    bool writes_;
    Opcode opcode_;
};

} // namespace

std::optional<std::uint64_t> faulting_access(std::span<const std::uint8_t> code, std::uint32_t error_code) {
    constexpr std::uint32_t of_data = fault_present | fault_write | fault_user;
    return (error_code & ~of_data) == 0 ? Finder(code, error_code).find() : std::nullopt;
}

} // namespace previrt
