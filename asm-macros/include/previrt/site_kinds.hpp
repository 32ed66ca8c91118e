// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>

namespace previrt {

enum class Padding : std::uint8_t {
    front, // redundant CS prefixes on the instruction itself
    nop,   // one long NOP behind
    trap,  // int3 behind an instruction that never falls through
};

// The meaning of the operand byte of an annotated instruction; for a table it has none.
enum class Annotates : std::uint8_t { nothing, level, device, table, constant };

enum class ModRm : std::uint8_t { none, reg, mem, either };

// One encoding of a kind, without operand-size and address-size prefixes and REX.
struct Encoding {
    std::uint8_t mandatory_prefix; // 0x66, 0xf2, 0xf3, or 0
    bool wide;                     // REX.W is part of it
    std::uint8_t opcode_length;
    std::uint8_t opcode[5];
    bool names_register; // the low three bits of the last byte of the opcode
    ModRm modrm;
    std::int8_t extension; // ModRM.reg when it is part of the opcode, else -1
    std::uint8_t immediate_bytes;
};

enum class SiteKind : std::uint8_t;

struct SiteKindInfo {
    SiteKind kind;
    const char* name;
    std::uint8_t replacement_bytes; // the longest sequence that may replace the instruction
    Padding padding;
    std::uint8_t nop_bytes; // with Padding::nop
    bool silent;            // at CPL 3 it does not fault but gives the host's answer
    Annotates annotates;
    const Encoding* encodings;
    std::uint8_t encoding_count;
};

#include "previrt/site_kinds.inc"

// Indexed by kind, because every executed site looks its kind up.
inline constexpr auto site_kind_table = [] {
    std::array<const SiteKindInfo*, 256> table{};
    for (const SiteKindInfo& info : site_kinds) {
        table[static_cast<std::uint8_t>(info.kind)] = &info;
    }
    return table;
}();

// nullptr: there is no such kind.
constexpr const SiteKindInfo* find_site_kind(std::uint8_t kind) {
    return site_kind_table[kind];
}

} // namespace previrt
