// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <bit>
#include <cstdint>

namespace previrt {

// The operands of a recorded instruction.
enum class Shape : std::uint8_t {
    implicit,  // none, or fixed by the instruction
    registers, // registers only
    memory,    // one operand is memory
    immediate, // the last byte of the instruction (the last two of lret)
    dx,        // the port is in DX
};

// One site, as the assembler writes it in section previrt_sites. The table is part of the kernel's ABI.
struct SiteRecord {
    std::int32_t site; // from this field to the first byte of the site
    std::uint8_t kind; // SiteKind
    std::uint8_t form; // bits 0-2 Shape, 3-5 operand width (1..4 for 1, 2, 4, 8 bytes), 6 rep, 7 zero
    std::uint8_t
        operand; // system << 4 | general register; destination << 4 | source; annotation: level or tag
    std::uint8_t lengths; // padding << 4 | instruction, in bytes

    [[nodiscard]] constexpr Shape shape() const { return static_cast<Shape>(form & 7); }
    [[nodiscard]] constexpr unsigned width() const { return (1U << ((form >> 3) & 7)) >> 1; }
    [[nodiscard]] constexpr bool repeats() const { return (form & 0x40) != 0; }
    [[nodiscard]] constexpr unsigned instruction_length() const { return lengths & 15; }
    [[nodiscard]] constexpr unsigned padding_length() const { return lengths >> 4; }
    [[nodiscard]] constexpr unsigned site_length() const { return instruction_length() + padding_length(); }
};
static_assert(sizeof(SiteRecord) == 8 && alignof(SiteRecord) == 4);

constexpr std::uint8_t encode_form(Shape shape, unsigned width, bool repeats) {
    const auto width_code = static_cast<unsigned>(std::bit_width(width));
    return static_cast<std::uint8_t>(static_cast<unsigned>(shape) | (width_code << 3) |
                                     (repeats ? 0x40U : 0U));
}

} // namespace previrt
