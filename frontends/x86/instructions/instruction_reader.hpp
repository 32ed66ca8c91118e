// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace previrt {

struct Prefixes {
    bool operand_size; // 16 bits
    bool address_size; // 32 bits
    bool repeats;
    std::uint8_t segment; // 0: none
    bool rex;
    bool rex_w;
    bool rex_r;
    bool rex_x;
    bool rex_b;
};

// The address of an operand in memory, in terms of registers.
struct MemoryOperand {
    static constexpr std::uint8_t no_register = 16;

    std::uint8_t base = no_register;
    std::uint8_t index = no_register;
    std::uint8_t index_shift = 0;
    std::uint8_t segment = 0;       // the prefix; 0: none
    bool is_relative = false;       // to the next instruction
    bool has_32_bits = false;       // of address
    std::uint64_t displacement = 0; // sign-extended

    friend bool operator==(const MemoryOperand&, const MemoryOperand&) = default;
};

struct ModRmOperand {
    unsigned reg;
    unsigned rm; // if it is a register
    bool is_memory;
    MemoryOperand memory;
};

// Reads the parts of an instruction in 64-bit mode in order. Past the end there are zeros.
class InstructionReader {
public:
    explicit InstructionReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    [[nodiscard]] std::size_t position() const { return next_; }
    [[nodiscard]] bool is_beyond() const { return next_ > bytes_.size(); }

    Prefixes prefixes();
    std::uint8_t byte();
    std::uint64_t signed_bytes(unsigned count); // 1, 2 or 4, sign-extended
    ModRmOperand mod_rm(const Prefixes& prefixes);

private:
    std::span<const std::uint8_t> bytes_;
    std::size_t next_ = 0;
};

// With the guest's registers as they are now.
std::uint64_t effective_address(const MemoryOperand& operand, std::uint64_t next);

// A general register as an instruction names it: with 8 bits and no REX, 4 to 7 are AH, CH, DH and BH.
std::uint64_t read_register(unsigned number, unsigned width, bool rex);
// A write of 32 bits clears the upper half.
void write_register(unsigned number, std::uint64_t value, unsigned width, bool rex);

} // namespace previrt
