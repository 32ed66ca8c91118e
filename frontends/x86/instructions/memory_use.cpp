// SPDX-License-Identifier: BSD-2-Clause
// By opcode, in the order of the manual's maps.
#include "frontends/x86/instructions/memory_use.hpp"

namespace previrt {

namespace {

constexpr Use nothing{};

// By group. The load and store of 28 and of 108 bytes are the unit's environment and its whole state.
constexpr Use uses_of_d9[] = {load(4),  nothing, store(4),  store(4), //
                              load(28), load(2), store(28), store(2)};
constexpr Use uses_of_db[] = {load(4), store(4), store(4), store(4), //
                              nothing, load(10), nothing,  store(10)};
constexpr Use uses_of_dd[] = {load(8),   store(8), store(8),   store(8), //
                              load(108), nothing,  store(108), store(2)};
constexpr Use uses_of_df[] = {load(2),  store(2), store(2),  store(2), //
                              load(10), load(8),  store(10), store(8)};

Use use_of_x87(std::uint8_t opcode, unsigned group) {
    switch (opcode) {
    case 0xd8:
    case 0xda:
        return load(4);
    case 0xd9:
        return uses_of_d9[group & 7U];
    case 0xdb:
        return uses_of_db[group & 7U];
    case 0xdc:
        return load(8);
    case 0xdd:
        return uses_of_dd[group & 7U];
    case 0xde:
        return load(2);
    default: // 0xdf
        return uses_of_df[group & 7U];
    }
}

// With a ModRM byte, whose middle field is `group`.
Use use_in_primary_map(const Opcode& opcode, unsigned group) {
    const std::uint8_t byte = opcode.byte;
    const unsigned width = opcode.width_or_byte();
    if (byte < 0x40) {
        const bool compares = byte >= 0x38;
        return (byte & 2U) != 0 || compares ? load(width) : change(width);
    }
    if (byte >= 0xd8 && byte <= 0xdf) {
        return use_of_x87(byte, group);
    }
    switch (byte) {
    case 0x63:
        return load(4);
    case 0x69:
    case 0x6b:
        return load(opcode.width());
    case 0x80:
    case 0x81:
    case 0x83:
        return group == 7 ? load(width) : change(width);
    case 0x84:
    case 0x85:
    case 0x8a:
    case 0x8b:
        return load(width);
    case 0x86:
    case 0x87:
        return change(width);
    case 0x88:
    case 0x89:
    case 0xc6:
    case 0xc7:
        return store(width);
    case 0x8c:
        return store(2);
    case 0x8e:
        return load(2);
    case 0x8f:
        return store(8);
    case 0xf6:
    case 0xf7:
        return group == 2 || group == 3 ? change(width) : load(width);
    case 0xff:
        if (group >= 2) {
            return load(group == 3 || group == 5 ? 10 : 8);
        }
        return change(width);
    case 0xc0:
    case 0xc1:
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
    case 0xfe:
        return change(width);
    default: // lea
        return nothing;
    }
}

Use use_of_group_ae(unsigned group) {
    constexpr unsigned legacy_area = 512;
    switch (group) {
    case 0:
    case 4:
    case 6:
        return store(legacy_area);
    case 1:
    case 5:
        return load(legacy_area);
    case 2:
        return load(4);
    case 3:
        return store(4);
    default:
        return nothing;
    }
}

Use use_of_general_two_bytes(const Opcode& opcode, unsigned group) {
    const std::uint8_t byte = opcode.byte;
    if ((byte & 0xf0U) == 0x40) {
        return load(opcode.width());
    }
    if ((byte & 0xf0U) == 0x90) {
        return store(1);
    }
    switch (byte) {
    case 0xa3:
    case 0xaf:
    case 0xb8:
    case 0xbc:
    case 0xbd:
        return load(opcode.width());
    case 0xa4:
    case 0xa5:
    case 0xab:
    case 0xac:
    case 0xad:
    case 0xb3:
    case 0xbb:
        return change(opcode.width());
    case 0xba:
        return group == 4 ? load(opcode.width()) : change(opcode.width());
    case 0xb0:
    case 0xb1:
    case 0xc0:
    case 0xc1:
        return change(opcode.width_or_byte());
    case 0xb6:
    case 0xbe:
        return load(1);
    case 0xb7:
    case 0xbf:
        return load(2);
    case 0xc3:
        return store(opcode.double_word_or_quad());
    case 0xc7:
        return group == 1 ? change(2 * opcode.double_word_or_quad()) : nothing;
    case 0xae:
        return use_of_group_ae(group);
    default: // prefetches and NOPs among them
        return nothing;
    }
}

Use use_in_two_byte_map(const Opcode& opcode, unsigned group) {
    const std::uint8_t byte = opcode.byte;
    const unsigned half = opcode.vector > 16 ? 16 : 8;
    switch (byte) {
    case 0x10:
        return load(opcode.scalar_or_vector());
    case 0x11:
        return store(opcode.scalar_or_vector());
    case 0x12:
    case 0x16:
        return load(opcode.prefix == 0xf3 || opcode.vector > 16 ? opcode.full_vector() : 8);
    case 0x13:
    case 0x17:
    case 0xd6:
        return store(8);
    case 0x29:
    case 0x2b:
        return store(opcode.full_vector());
    case 0x7f:
    case 0xe7:
        return store(opcode.vector_or_mmx());
    case 0x2a:
        return load(opcode.prefix >= 0xf2 ? opcode.double_word_or_quad() : 8);
    case 0x2c:
    case 0x2d:
        if (opcode.prefix == 0xf3) {
            return load(4);
        }
        return load(opcode.prefix == 0x66 ? 16 : 8);
    case 0x2e:
    case 0x2f:
        return load(opcode.prefix == 0x66 ? 8 : 4);
    case 0x5a: // between floats and doubles, the scalars by a prefix
        if (opcode.prefix >= 0xf2) {
            return load(opcode.prefix == 0xf3 ? 4 : 8);
        }
        return load(opcode.prefix == 0x66 ? opcode.full_vector() : half);
    case 0xe6:
        return load(opcode.prefix == 0xf3 ? half : opcode.full_vector());
    case 0x6e:
        return load(opcode.double_word_or_quad());
    case 0x7e:
        return opcode.prefix == 0xf3 ? load(8) : store(opcode.double_word_or_quad());
    case 0x77: // without an operand
        return nothing;
    case 0xc4:
        return load(2);
    default:
        break;
    }
    if (byte == 0x28 || byte == 0x14 || byte == 0x15 || (byte >= 0x50 && byte < 0x60) || byte == 0xc2 ||
        byte == 0xc6) {
        return load(opcode.scalar_or_vector());
    }
    if ((byte >= 0x60 && byte < 0x80) || byte >= 0xd0) {
        return load(opcode.prefix == 0xf3 || opcode.prefix == 0xf2 ? opcode.full_vector()
                                                                   : opcode.vector_or_mmx());
    }
    return use_of_general_two_bytes(opcode, group);
}

Use use_in_38_map(const Opcode& opcode) {
    const std::uint8_t byte = opcode.byte;
    if (byte >= 0xf0) {
        const bool is_crc = opcode.prefix == 0xf2 && opcode.vector == 0;
        if (is_crc) {
            return load(byte == 0xf0 ? 1 : opcode.width());
        }
        return byte == 0xf1 ? store(opcode.width()) : load(opcode.width());
    }
    const bool extends = (byte & 0xe8U) == 0x20 || (byte & 0xf8U) == 0x30;
    if (extends && (byte & 7U) < 6) {
        constexpr unsigned shifts[] = {1, 2, 3, 1, 2, 1};
        return load(opcode.full_vector() >> shifts[byte & 7U]);
    }
    const bool gathers = opcode.vector != 0 && byte >= 0x90 && byte < 0x94; // its index is a vector
    if (gathers) {
        return nothing;
    }
    switch (byte) {
    case 0x18:
    case 0x58:
        return load(4);
    case 0x19:
    case 0x59:
        return load(8);
    case 0x1a:
    case 0x5a:
        return load(16);
    case 0x78:
        return load(1);
    case 0x79:
        return load(2);
    case 0x2e:
    case 0x2f:
    case 0x8e:
        return store(opcode.full_vector());
    default:
        return load(opcode.vector_or_mmx());
    }
}

Use use_in_3a_map(const Opcode& opcode) {
    switch (opcode.byte) {
    case 0x0a:
    case 0x21:
        return load(4);
    case 0x0b:
        return load(8);
    case 0x14:
        return store(1);
    case 0x15:
        return store(2);
    case 0x16:
        return store(opcode.double_word_or_quad());
    case 0x17:
        return store(4);
    case 0x18:
    case 0x38:
        return load(16);
    case 0x19:
    case 0x39:
        return store(16);
    case 0x1d:
        return store(opcode.full_vector() / 2);
    case 0x20:
        return load(1);
    case 0x22:
        return load(opcode.double_word_or_quad());
    case 0xf0:
        return load(opcode.width());
    default:
        return load(opcode.vector_or_mmx());
    }
}

} // namespace

Use use_of_memory(const Opcode& opcode, unsigned group) {
    switch (opcode.map) {
    case Map::primary:
        return use_in_primary_map(opcode, group);
    case Map::two_bytes:
        return use_in_two_byte_map(opcode, group);
    case Map::three_bytes_38:
        return use_in_38_map(opcode);
    default:
        return use_in_3a_map(opcode);
    }
}

} // namespace previrt
