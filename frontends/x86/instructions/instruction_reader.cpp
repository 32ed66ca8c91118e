// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/instructions/instruction_reader.hpp"

#include "inplace-vmm/backend/segment_bases.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

namespace {

constexpr std::uint8_t segment_prefix_fs = 0x64;
constexpr std::uint8_t segment_prefix_gs = 0x65;

constexpr std::uint8_t padding_prefix = 0x2e; // CS: an annotated instruction begins with several

std::uint8_t extend(unsigned low, bool high) {
    return static_cast<std::uint8_t>(low | (high ? 8U : 0U));
}

constexpr unsigned high_byte_shift = 8;

bool is_high_byte(unsigned number, unsigned width, bool rex) {
    return width == 1 && !rex && number >= rsp && number <= rdi;
}

constexpr std::uint64_t mask_of(unsigned width) {
    return width >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * width)) - 1;
}

} // namespace

std::uint8_t InstructionReader::byte() {
    const std::size_t at = next_++;
    return at < bytes_.size() ? bytes_[at] : std::uint8_t{0};
}

std::uint64_t InstructionReader::signed_bytes(unsigned count) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < count; ++i) {
        value |= std::uint32_t{byte()} << (8 * i);
    }
    switch (count) {
    case 1:
        return static_cast<std::uint64_t>(static_cast<std::int8_t>(value));
    case 2:
        return static_cast<std::uint64_t>(static_cast<std::int16_t>(value));
    default:
        return static_cast<std::uint64_t>(static_cast<std::int32_t>(value));
    }
}

Prefixes InstructionReader::prefixes() {
    Prefixes found{};
    while (next_ < bytes_.size() && bytes_[next_] == padding_prefix) {
        ++next_;
    }
    for (;;) {
        const std::uint8_t value = next_ < bytes_.size() ? bytes_[next_] : std::uint8_t{0};
        switch (value) {
        case 0x66:
            found.operand_size = true;
            break;
        case 0xf2:
        case 0xf3:
            found.repeats = true;
            break;
        case segment_prefix_fs:
        case segment_prefix_gs:
            found.segment = value;
            break;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0xf0:
            break;
        case 0x67:
            found.address_size = true;
            break;
        default:
            if ((value & 0xf0U) == 0x40) {
                found.rex = true;
                found.rex_w = (value & 8U) != 0;
                found.rex_r = (value & 4U) != 0;
                found.rex_x = (value & 2U) != 0;
                found.rex_b = (value & 1U) != 0;
                ++next_;
            }
            return found;
        }
        ++next_;
    }
}

ModRmOperand InstructionReader::mod_rm(const Prefixes& prefixes) {
    const std::uint8_t mod_rm = byte();
    const unsigned mod = mod_rm >> 6U;
    ModRmOperand operand{};
    operand.reg = extend((mod_rm >> 3U) & 7U, prefixes.rex_r);
    operand.rm = extend(mod_rm & 7U, prefixes.rex_b);
    if (mod == 3) {
        return operand;
    }
    operand.is_memory = true;
    MemoryOperand& memory = operand.memory;
    memory.segment = prefixes.segment;
    memory.has_32_bits = prefixes.address_size;
    bool no_base = mod == 0 && (mod_rm & 7U) == 5;
    if ((mod_rm & 7U) == 4) {
        const std::uint8_t sib = byte();
        const std::uint8_t index = extend((sib >> 3U) & 7U, prefixes.rex_x);
        if (index != rsp) {
            memory.index = index;
            memory.index_shift = sib >> 6U;
        }
        no_base = mod == 0 && (sib & 7U) == 5;
        if (!no_base) {
            memory.base = extend(sib & 7U, prefixes.rex_b);
        }
    } else if (no_base) {
        memory.is_relative = true;
    } else {
        memory.base = extend(mod_rm & 7U, prefixes.rex_b);
    }
    if (mod == 1) {
        memory.displacement = signed_bytes(1);
    } else if (mod == 2 || no_base) {
        memory.displacement = signed_bytes(4);
    }
    return operand;
}

std::uint64_t effective_address(const MemoryOperand& operand, std::uint64_t next) {
    const std::uint64_t* const general = vcpu.registers.general;
    std::uint64_t address = operand.displacement + (operand.is_relative ? next : 0);
    if (operand.base != MemoryOperand::no_register) {
        address += general[operand.base];
    }
    if (operand.index != MemoryOperand::no_register) {
        address += general[operand.index] << operand.index_shift;
    }
    if (operand.has_32_bits) {
        address &= 0xffffffffU;
    }
    if (operand.segment == segment_prefix_fs) {
        address += backend::read_fs_base();
    } else if (operand.segment == segment_prefix_gs) {
        address += backend::read_gs_base(vcpu.gs_exchanged != 0);
    }
    return address;
}

std::uint64_t read_register(unsigned number, unsigned width, bool rex) {
    const std::uint64_t* const general = vcpu.registers.general;
    if (is_high_byte(number, width, rex)) {
        return (general[number - rsp] >> high_byte_shift) & 0xffU;
    }
    return general[number] & mask_of(width);
}

void write_register(unsigned number, std::uint64_t value, unsigned width, bool rex) {
    std::uint64_t* const general = vcpu.registers.general;
    value &= mask_of(width);
    if (is_high_byte(number, width, rex)) {
        constexpr std::uint64_t high_byte = 0xff00;
        general[number - rsp] = (general[number - rsp] & ~high_byte) | (value << high_byte_shift);
    } else if (width >= 4) {
        general[number] = value;
    } else {
        general[number] = (general[number] & ~mask_of(width)) | value;
    }
}

} // namespace previrt
