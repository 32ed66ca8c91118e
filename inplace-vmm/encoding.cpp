// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/encoding.hpp"

#include <algorithm>

namespace previrt {

namespace {

struct Prefixes {
    std::size_t length;
    bool operand_size;
    bool lock;
    std::uint8_t repeat; // 0xf2, 0xf3 or 0
    bool wide;           // REX.W
};

constexpr bool is_segment_override(std::uint8_t byte) {
    return byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x64 || byte == 0x65;
}

Prefixes read_prefixes(std::span<const std::uint8_t> instruction) {
    Prefixes prefixes{};
    for (; prefixes.length < instruction.size(); ++prefixes.length) {
        const std::uint8_t byte = instruction[prefixes.length];
        if (byte == 0x66) {
            prefixes.operand_size = true;
        } else if (byte == 0xf2 || byte == 0xf3) {
            prefixes.repeat = byte;
        } else if (byte == 0xf0) {
            prefixes.lock = true;
        } else if (byte != 0x67 && !is_segment_override(byte)) {
            break;
        }
    }
    const std::uint8_t next = prefixes.length < instruction.size() ? instruction[prefixes.length] : 0;
    const bool rex = (next & 0xf0U) == 0x40;
    prefixes.wide = rex && (next & 8U) != 0;
    prefixes.length += rex ? 1 : 0;
    return prefixes;
}

bool prefixes_match(const Prefixes& prefixes, const Encoding& encoding, bool repeats) {
    if (encoding.wide && !prefixes.wide) {
        return false;
    }
    if (encoding.mandatory_prefix == 0x66) {
        return prefixes.operand_size && prefixes.repeat == 0;
    }
    if (encoding.mandatory_prefix != 0) {
        return prefixes.repeat == encoding.mandatory_prefix;
    }
    return (prefixes.repeat != 0) == repeats;
}

// The length of ModRM, SIB and displacement in 64-bit mode; 0 if they do not fit or do not have the form that
// `encoding` demands.
std::size_t operand_length(const Encoding& encoding, std::span<const std::uint8_t> rest) {
    if (rest.empty()) {
        return 0;
    }
    const unsigned mod = rest[0] >> 6U;
    const unsigned reg = (rest[0] >> 3U) & 7U;
    const unsigned rm = rest[0] & 7U;
    if (encoding.extension >= 0 && reg != static_cast<unsigned>(encoding.extension)) {
        return 0;
    }
    if (mod == 3) {
        return encoding.modrm == ModRm::mem ? 0 : 1;
    }
    if (encoding.modrm == ModRm::reg) {
        return 0;
    }
    std::size_t length = 1;
    unsigned base = rm;
    if (rm == 4) {
        if (rest.size() < 2) {
            return 0;
        }
        base = rest[1] & 7U;
        length = 2;
    }
    if (mod == 1) {
        return length + 1;
    }
    const bool no_base = mod == 0 && base == 5;
    return mod == 2 || no_base ? length + 4 : length;
}

} // namespace

bool has_lock_prefix(std::span<const std::uint8_t> instruction) {
    return read_prefixes(instruction).lock;
}

bool encoding_matches(const Encoding& encoding, bool repeats, std::span<const std::uint8_t> instruction) {
    const Prefixes prefixes = read_prefixes(instruction);
    if (!prefixes_match(prefixes, encoding, repeats)) {
        return false;
    }
    std::span<const std::uint8_t> rest = instruction.subspan(prefixes.length);
    if (rest.size() < encoding.opcode_length) {
        return false;
    }
    const std::span opcode(encoding.opcode, encoding.opcode_length);
    const std::size_t last = opcode.size() - 1;
    const unsigned fixed_bits = encoding.names_register ? 0xf8 : 0xff;
    if (!std::ranges::equal(rest.first(last), opcode.first(last)) ||
        (rest[last] & fixed_bits) != opcode[last]) {
        return false;
    }
    rest = rest.subspan(encoding.opcode_length);
    std::size_t expected = encoding.immediate_bytes;
    if (encoding.modrm != ModRm::none) {
        const std::size_t operand = operand_length(encoding, rest);
        if (operand == 0) {
            return false;
        }
        expected += operand;
    }
    return rest.size() == expected;
}

} // namespace previrt
