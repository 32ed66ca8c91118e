// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/instructions/memory_access.hpp"

#include "frontends/x86/instructions/memory_use.hpp"

namespace previrt {

namespace {

bool has_mod_rm(std::uint8_t byte) {
    if (byte < 0x40) {
        return (byte & 7U) < 4;
    }
    return byte == 0x63 || byte == 0x69 || byte == 0x6b || (byte >= 0x80 && byte <= 0x8f) || byte == 0xc0 ||
           byte == 0xc1 || byte == 0xc6 || byte == 0xc7 || (byte >= 0xd0 && byte <= 0xd3) ||
           (byte >= 0xd8 && byte <= 0xdf) || byte == 0xf6 || byte == 0xf7 || byte >= 0xfe;
}

class Finder {
public:
    Finder(std::span<const std::uint8_t> code, std::uint64_t next)
        : reader_(code), code_(code), next_(next) {}

    MemoryAccesses find() {
        if (read_opcode()) {
            if (opcode_.map != Map::primary || has_mod_rm(opcode_.byte)) {
                find_operand();
            } else {
                find_strings();
            }
            find_stack();
        }
        return accesses_;
    }

private:
    void add(std::uint64_t address, const Use& use) {
        if (use.bytes != 0 && accesses_.count < MemoryAccesses::most) {
            accesses_.found[accesses_.count++] = {
                .address = address, .bytes = use.bytes, .reads = use.reads, .writes = use.writes};
        }
    }

    // False: the opcode is unknown.
    bool read_opcode() {
        opcode_.prefixes = reader_.prefixes();
        for (std::size_t i = 0; i < reader_.position() && i < code_.size(); ++i) {
            const std::uint8_t byte = code_[i];
            if (byte == 0xf2 || byte == 0xf3 || (byte == 0x66 && opcode_.prefix == 0)) {
                opcode_.prefix = byte;
            }
        }
        opcode_.byte = reader_.byte();
        if (opcode_.byte == 0xc4 || opcode_.byte == 0xc5) {
            read_vex(opcode_.byte == 0xc4);
            return opcode_.map != Map::primary;
        }
        if (opcode_.byte == 0x0f) {
            opcode_.map = Map::two_bytes;
            opcode_.byte = reader_.byte();
            if (opcode_.byte == 0x38 || opcode_.byte == 0x3a) {
                opcode_.map = opcode_.byte == 0x38 ? Map::three_bytes_38 : Map::three_bytes_3a;
                opcode_.byte = reader_.byte();
            }
        }
        constexpr std::uint8_t evex = 0x62;
        return opcode_.map != Map::primary || opcode_.byte != evex;
    }

    void read_vex(bool has_three_bytes) {
        constexpr std::uint8_t implied[] = {0, 0x66, 0xf3, 0xf2};
        std::uint8_t last = reader_.byte();
        unsigned map = 1;
        opcode_.prefixes.rex = true;
        opcode_.prefixes.rex_r = (last & 0x80U) == 0;
        if (has_three_bytes) {
            opcode_.prefixes.rex_x = (last & 0x40U) == 0;
            opcode_.prefixes.rex_b = (last & 0x20U) == 0;
            map = last & 0x1fU;
            last = reader_.byte();
            opcode_.prefixes.rex_w = (last & 0x80U) != 0;
        }
        opcode_.vector = (last & 4U) != 0 ? 32 : 16;
        opcode_.prefix = implied[last & 3U];
        opcode_.map = map >= 1 && map <= 3 ? static_cast<Map>(map) : Map::primary;
        opcode_.byte = reader_.byte();
    }

    void find_operand() {
        const ModRmOperand operand = reader_.mod_rm(opcode_.prefixes);
        group_ = operand.reg & 7U;
        if (!operand.is_memory) {
            return;
        }
        const bool branches =
            opcode_.map == Map::primary && opcode_.byte == 0xff && group_ >= 2 && group_ <= 5;
        const std::uint64_t behind = branches ? vcpu.registers.rip + reader_.position() : next_;
        const Use use = use_of_memory(opcode_, group_);
        add(effective_address(operand.memory, behind) + bit_offset(operand.reg), use);
    }

    // BT and its kin with a bit number in a register reach past their operand.
    [[nodiscard]] std::uint64_t bit_offset(unsigned reg) const {
        const bool tests_bits = opcode_.map == Map::two_bytes && (opcode_.byte & 0xe7U) == 0xa3;
        if (!tests_bits) {
            return 0;
        }
        const unsigned width = opcode_.width();
        auto bit = static_cast<std::int64_t>(vcpu.registers.general[reg]);
        if (width == 4) {
            bit = static_cast<std::int32_t>(bit);
        } else if (width == 2) {
            bit = static_cast<std::int16_t>(bit);
        }
        const std::int64_t bits = 8 * static_cast<std::int64_t>(width);
        const std::int64_t units = bit >= 0 ? bit / bits : -((-(bit + 1)) / bits) - 1;
        return static_cast<std::uint64_t>(units) * width;
    }

    void find_strings() {
        const std::uint64_t* const general = vcpu.registers.general;
        const unsigned width = opcode_.width_or_byte();
        const bool does_nothing = opcode_.prefix >= 0xf2 && general[rcx] == 0;
        if (does_nothing) {
            return;
        }
        switch (opcode_.byte & 0xfeU) {
        case 0xa4:
            add(general[rsi], load(width));
            add(general[rdi], store(width));
            break;
        case 0xa6:
            add(general[rsi], load(width));
            add(general[rdi], load(width));
            break;
        case 0xaa:
            add(general[rdi], store(width));
            break;
        case 0xac:
            add(general[rsi], load(width));
            break;
        case 0xae:
            add(general[rdi], load(width));
            break;
        default:
            break;
        }
    }

    void find_stack() {
        const std::uint8_t byte = opcode_.byte;
        const std::uint64_t stack = vcpu.registers.general[rsp];
        constexpr unsigned word = 8;
        const bool is_primary = opcode_.map == Map::primary;
        const bool pushes = is_primary ? (byte & 0xf8U) == 0x50 || byte == 0x68 || byte == 0x6a ||
                                             byte == 0x9c || byte == 0xe8 || byte == 0xc8 ||
                                             (byte == 0xff && (group_ == 2 || group_ == 6))
                                       : opcode_.map == Map::two_bytes && (byte == 0xa0 || byte == 0xa8);
        const bool pops = is_primary ? (byte & 0xf8U) == 0x58 || byte == 0x8f || byte == 0x9d ||
                                           byte == 0xc2 || byte == 0xc3
                                     : opcode_.map == Map::two_bytes && (byte == 0xa1 || byte == 0xa9);
        if (pushes) {
            add(stack - word, store(word));
        } else if (pops) {
            add(stack, load(word));
        } else if (is_primary && byte == 0xc9) { // leave
            add(vcpu.registers.general[rbp], load(word));
        }
    }

    InstructionReader reader_;
    std::span<const std::uint8_t> code_;
    std::uint64_t next_;
    Opcode opcode_;
    unsigned group_ = 0;
    MemoryAccesses accesses_{};
};

} // namespace

MemoryAccesses memory_accesses(std::span<const std::uint8_t> code, const Registers& before,
                               std::uint64_t next) {
    const Registers now = vcpu.registers;
    vcpu.registers = before;
    const MemoryAccesses accesses = Finder(code, next).find();
    vcpu.registers = now;
    return accesses;
}

} // namespace previrt
