// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/instruction.hpp"

#include "frontends/x86/segment_registers.hpp"
#include "inplace-vmm/backend.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

namespace {

struct AddressPrefixes {
    std::uint8_t segment; // 0: none
    bool size;            // 32 bits
};

struct Rex {
    bool w;
    bool r;
    bool x;
    bool b;
};

class Reader {
public:
    explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    [[nodiscard]] bool at_end() const { return next_ == bytes_.size(); }
    [[nodiscard]] std::uint8_t peek() const { return at_end() ? std::uint8_t{0} : bytes_[next_]; }
    std::uint8_t byte() { return at_end() ? std::uint8_t{0} : bytes_[next_++]; }
    std::int64_t signed_bytes(unsigned count) {
        std::uint32_t value = 0;
        for (unsigned i = 0; i < count; ++i) {
            value |= std::uint32_t{byte()} << (8 * i);
        }
        return count == 1 ? static_cast<std::int8_t>(value) : static_cast<std::int32_t>(value);
    }

private:
    std::span<const std::uint8_t> bytes_;
    std::size_t next_ = 0;
};

bool has_modrm(SiteKind kind) {
    const SiteKindInfo* const info = find_site_kind(static_cast<std::uint8_t>(kind));
    return info != nullptr && info->encodings[0].modrm != ModRm::none;
}

unsigned extend(unsigned low, bool high) {
    return low | (high ? 8U : 0U);
}

void read_modrm(Reader& reader, Rex rex, AddressPrefixes prefixes, Instruction& instruction) {
    const std::uint8_t modrm = reader.byte();
    const unsigned mod = modrm >> 6U;
    instruction.has_operand = true;
    instruction.reg = extend((modrm >> 3U) & 7U, rex.r);
    instruction.rm = extend(modrm & 7U, rex.b);
    if (mod == 3) {
        return;
    }
    instruction.operand_is_memory = true;
    const std::uint64_t* const general = vcpu.registers.general;
    std::uint64_t address = 0;
    bool no_base = mod == 0 && (modrm & 7U) == 5;
    if ((modrm & 7U) == 4) {
        const std::uint8_t sib = reader.byte();
        const unsigned index = extend((sib >> 3U) & 7U, rex.x);
        if (index != rsp) {
            address += general[index] << (sib >> 6U);
        }
        no_base = mod == 0 && (sib & 7U) == 5;
        if (!no_base) {
            address += general[extend(sib & 7U, rex.b)];
        }
    } else if (no_base) {
        address += instruction.next; // relative to RIP
    } else {
        address += general[instruction.rm];
    }
    if (mod == 1) {
        address += static_cast<std::uint64_t>(reader.signed_bytes(1));
    } else if (mod == 2 || no_base) {
        address += static_cast<std::uint64_t>(reader.signed_bytes(4));
    }
    if (prefixes.size) {
        address &= 0xffffffffU;
    }
    if (prefixes.segment == 0x64) {
        address += backend::read_fs_base();
    } else if (prefixes.segment == 0x65) {
        address += backend::read_gs_base(vcpu.gs_exchanged != 0);
    }
    instruction.effective = address;
}

unsigned width_of(SiteKind kind, std::uint8_t opcode, bool operand_size, Rex rex) {
    switch (kind) {
    case SiteKind::in:
    case SiteKind::out:
    case SiteKind::ins:
    case SiteKind::outs:
        if ((opcode & 1U) == 0) {
            return 1;
        }
        return operand_size ? 2 : 4;
    case SiteKind::pushf:
    case SiteKind::popf:
    case SiteKind::push_segment:
    case SiteKind::pop_segment:
        return operand_size ? 2 : 8;
    default:
        if (rex.w) {
            return 8;
        }
        return operand_size ? 2 : 4;
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
    Reader reader(bytes);
    Rex rex{};
    AddressPrefixes prefixes{};
    bool operand_size = false;
    for (bool more = true; more;) {
        const std::uint8_t byte = reader.peek();
        switch (byte) {
        case 0x66:
            operand_size = true;
            break;
        case 0xf2:
        case 0xf3:
            instruction.repeats = true;
            break;
        case 0x64:
        case 0x65:
            prefixes.segment = byte;
            break;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0xf0:
            break;
        case 0x67:
            prefixes.size = true;
            break;
        default:
            more = false;
            if ((byte & 0xf0U) == 0x40) {
                rex = {.w = (byte & 8U) != 0,
                       .r = (byte & 4U) != 0,
                       .x = (byte & 2U) != 0,
                       .b = (byte & 1U) != 0};
                reader.byte();
            }
        }
        if (more) {
            reader.byte();
        }
    }
    instruction.opcode = reader.byte();
    if (instruction.opcode == 0x0f) {
        instruction.opcode = reader.byte();
        if (instruction.opcode == 0x38) {
            instruction.opcode = reader.byte();
        }
    }
    instruction.width = width_of(kind, instruction.opcode, operand_size, rex);
    if (has_modrm(kind)) {
        read_modrm(reader, rex, prefixes, instruction);
    }
    instruction.immediate = bytes[bytes.size() - 1];
    if (kind == SiteKind::lret && instruction.opcode == 0xca && bytes.size() >= 2) {
        instruction.immediate =
            static_cast<std::uint16_t>(bytes[bytes.size() - 2] | (bytes[bytes.size() - 1] << 8U));
    }
    return instruction;
}

} // namespace previrt
