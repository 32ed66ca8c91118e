// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instructions/instruction_reader.hpp"

#include <cstdint>

namespace previrt {

// The access of an opcode to its operand in memory.
struct Use {
    unsigned bytes = 0;
    bool reads = false;
    bool writes = false;
};

constexpr Use load(unsigned bytes) {
    return {.bytes = bytes, .reads = true, .writes = false};
}
constexpr Use store(unsigned bytes) {
    return {.bytes = bytes, .reads = false, .writes = true};
}
constexpr Use change(unsigned bytes) {
    return {.bytes = bytes, .reads = true, .writes = true};
}

enum class Map : std::uint8_t { primary, two_bytes, three_bytes_38, three_bytes_3a };

struct Opcode {
    Map map = Map::primary;
    std::uint8_t byte = 0;
    std::uint8_t prefix = 0; // 0x66, 0xf2, 0xf3, or none
    Prefixes prefixes{};
    unsigned vector = 0; // bytes, from VEX; 0 without VEX

    [[nodiscard]] unsigned width() const { // of general registers
        if (prefixes.rex_w) {
            return 8;
        }
        return prefixes.operand_size ? 2 : 4;
    }
    [[nodiscard]] unsigned width_or_byte() const { return (byte & 1U) != 0 ? width() : 1; }
    [[nodiscard]] unsigned double_word_or_quad() const { return prefixes.rex_w ? 8 : 4; }
    [[nodiscard]] unsigned full_vector() const { return vector != 0 ? vector : 16; }
    // MMX, if no prefix says otherwise.
    [[nodiscard]] unsigned vector_or_mmx() const { return vector == 0 && prefix == 0 ? 8 : full_vector(); }
    [[nodiscard]] unsigned scalar_or_vector() const {
        if (prefix == 0xf3) {
            return 4;
        }
        return prefix == 0xf2 ? 8 : full_vector();
    }
};

// `group` is the middle field of ModRM.
Use use_of_memory(const Opcode& opcode, unsigned group);

} // namespace previrt
