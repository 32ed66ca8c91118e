// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/ring3/displaced_instructions.hpp"

#include "backends/common/ring3/machine_code.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace previrt {

namespace {

using Code = std::span<const std::uint8_t>;
using End = DisplacedInstructions::End;

constexpr std::size_t bytes_covered = user_call_bytes - system_call_bytes;
constexpr std::uint8_t two_byte_opcode = 0x0f;

struct OpcodeRange {
    std::uint8_t first;
    std::uint8_t last;
};

// An operand by ModRM, nothing else.
constexpr OpcodeRange with_operand[] = {{0x00, 0x03}, {0x08, 0x0b}, {0x20, 0x23}, {0x28, 0x2b}, {0x30, 0x33},
                                        {0x38, 0x3b}, {0x63, 0x63}, {0x84, 0x85}, {0x88, 0x8b}, {0x8d, 0x8d}};
constexpr OpcodeRange with_operand_and_byte[] = {{0x80, 0x80}, {0x83, 0x83}};
constexpr OpcodeRange with_operand_and_word[] = {{0x81, 0x81}};
constexpr OpcodeRange with_byte[] = {{0x04, 0x04}, {0x0c, 0x0c}, {0x24, 0x24}, {0x2c, 0x2c},
                                     {0x34, 0x34}, {0x3c, 0x3c}, {0xa8, 0xa8}, {0xb0, 0xb7}};
constexpr OpcodeRange with_word[] = {{0x05, 0x05}, {0x0d, 0x0d}, {0x25, 0x25}, {0x2d, 0x2d},
                                     {0x35, 0x35}, {0x3d, 0x3d}, {0xa9, 0xa9}};
constexpr OpcodeRange alone[] = {{0x50, 0x5f}, {0x90, 0x90}};
// Behind 0f: nop, and moves by condition, or of a smaller operand.
constexpr OpcodeRange with_operand_of_two_bytes[] = {{0x1f, 0x1f}, {0x40, 0x4f}, {0xb6, 0xb7}, {0xbe, 0xbf}};

// Opcodes that no processor executes at level 3: #GP for in, out and their string forms, hlt, cli, sti; #UD
// for opcodes that 64-bit code does not have.
constexpr OpcodeRange faulting[] = {{0x06, 0x07}, {0x0e, 0x0e}, {0x16, 0x17}, {0x1e, 0x1f}, {0x27, 0x27},
                                    {0x2f, 0x2f}, {0x37, 0x37}, {0x3f, 0x3f}, {0x60, 0x61}, {0x6c, 0x6f},
                                    {0x82, 0x82}, {0x9a, 0x9a}, {0xce, 0xce}, {0xe4, 0xe7}, {0xea, 0xea},
                                    {0xec, 0xef}, {0xf4, 0xf4}, {0xfa, 0xfb}};

bool is_in(std::span<const OpcodeRange> ranges, std::uint8_t opcode) {
    return std::ranges::any_of(
        ranges, [opcode](const OpcodeRange& range) { return opcode >= range.first && opcode <= range.last; });
}

// From ModRM on. 0: it is relative to RIP, or incomplete.
std::size_t operand_length(Code code) {
    if (code.empty()) {
        return 0;
    }
    constexpr unsigned by_sib = 4;
    constexpr unsigned no_base = 5;
    const unsigned mode = code[0] >> 6U;
    const unsigned rm = code[0] & 7U;
    if (mode == 3) {
        return 1;
    }
    if (rm == by_sib && code.size() < 2) {
        return 0;
    }
    if (mode == 0 && rm == no_base) {
        return 0;
    }
    const bool has_no_base = mode == 0 && rm == by_sib && (code[1] & 7U) == no_base;
    const std::size_t without_displacement = rm == by_sib ? 2 : 1;
    if (mode == 1) {
        return without_displacement + 1;
    }
    return without_displacement + (mode == 2 || has_no_base ? 4 : 0);
}

std::size_t with_operand_length(Code code, std::size_t opcode_end, std::size_t immediate) {
    const std::size_t operand = operand_length(code.subspan(opcode_end));
    return operand == 0 ? 0 : opcode_end + operand + immediate;
}

// Of opcodes that ModRM continues. Only test and mov have an immediate operand.
std::size_t group_length(Code code, std::size_t opcode_end, std::size_t immediate) {
    constexpr unsigned test_or_mov = 0;
    constexpr unsigned bitwise_not = 2;
    constexpr unsigned negate = 3;
    const std::uint8_t opcode = code[opcode_end - 1];
    const unsigned operation = code[opcode_end] >> 3U & 7U;
    if (operation == test_or_mov) {
        return with_operand_length(code, opcode_end, immediate);
    }
    const bool is_mov = opcode == 0xc6 || opcode == 0xc7;
    const bool is_unary = operation == bitwise_not || operation == negate;
    return !is_mov && is_unary ? with_operand_length(code, opcode_end, 0) : 0;
}

// Of an instruction that does the same at any address, of the kinds that compilers put behind system calls.
// 0: it is none. May exceed the code.
std::size_t movable_length(Code code) {
    std::size_t at = 0;
    const bool has_rex = !code.empty() && (code[0] & 0xf0U) == 0x40;
    const bool is_wide = has_rex && (code[0] & 8U) != 0;
    at += has_rex ? 1 : 0;
    if (code.size() < at + 2) {
        return 0;
    }
    const std::uint8_t opcode = code[at++];
    constexpr std::size_t word = 4;
    if (opcode == two_byte_opcode) {
        return is_in(with_operand_of_two_bytes, code[at]) ? with_operand_length(code, at + 1, 0) : 0;
    }
    const bool is_undefined = opcode == 0x8d && code[at] >> 6U == 3; // lea of a register
    if (is_in(with_operand, opcode) && !is_undefined) {
        return with_operand_length(code, at, 0);
    }
    if (is_in(with_operand_and_byte, opcode)) {
        return with_operand_length(code, at, 1);
    }
    if (is_in(with_operand_and_word, opcode)) {
        return with_operand_length(code, at, word);
    }
    if (opcode == 0xf6 || opcode == 0xc6) {
        return group_length(code, at, 1);
    }
    if (opcode == 0xf7 || opcode == 0xc7) {
        return group_length(code, at, word);
    }
    if (opcode >= 0xb8 && opcode <= 0xbf) {
        return at + (is_wide ? 2 * word : word);
    }
    if (is_in(with_byte, opcode)) {
        return at + 1;
    }
    if (is_in(with_word, opcode)) {
        return at + word;
    }
    return is_in(alone, opcode) ? at : 0;
}

// nop in all lengths, and int3. 0: none.
std::size_t padding_length(Code code) {
    std::size_t at = 0;
    while (at < code.size() && (code[at] == 0x66 || code[at] == 0x2e)) {
        ++at;
    }
    if (at < code.size() && (code[at] == 0x90 || (at == 0 && code[at] == 0xcc))) {
        return at + 1;
    }
    const bool is_long = at + 2 < code.size() && code[at] == two_byte_opcode && code[at + 1] == 0x1f;
    return is_long ? with_operand_length(code, at + 2, 0) : 0;
}

// Nothing else is in the part that the jump covers.
bool is_padding(Code code, std::size_t from) {
    while (from < bytes_covered) {
        const std::size_t length = from < code.size() ? padding_length(code.subspan(from)) : 0;
        if (length == 0) {
            return false;
        }
        from += length;
    }
    return true;
}

struct Transfer {
    End end;
    std::size_t bytes;
    std::int32_t displacement; // from behind it
};

// An instruction behind which nothing is displaced.
bool read_transfer(Code code, Transfer& transfer) {
    constexpr std::size_t short_form = 2;
    constexpr std::size_t long_form = 5;
    if (!code.empty() && code[0] == 0xc3) {
        transfer = {.end = End::ret, .bytes = 1, .displacement = 0};
        return true;
    }
    if (code.size() >= short_form && code[0] == 0xeb) {
        transfer = {.end = End::jump, .bytes = short_form, .displacement = static_cast<std::int8_t>(code[1])};
        return true;
    }
    if (code.size() < long_form || (code[0] != 0xe8 && code[0] != 0xe9)) {
        return false;
    }
    transfer = {.end = code[0] == 0xe8 ? End::call : End::jump, .bytes = long_form, .displacement = 0};
    std::memcpy(&transfer.displacement, &code[1], sizeof(transfer.displacement));
    return true;
}

// Only the first instruction's start is the jump's SIB byte, and the last byte of an address faults nowhere.
bool can_begin_at(std::size_t distance) {
    return distance == 0 || (distance >= 2 && distance + 1 < bytes_covered);
}

} // namespace

bool DisplacedInstructions::begins_at(std::uint64_t distance) const {
    return std::ranges::count(std::span(starts, count), distance) != 0;
}

std::int64_t DisplacedInstructions::seen_at(std::uint64_t distance_in_stub) const {
    // A stub calls by a push and a jump. Between them, the call is complete.
    return end == End::call && distance_in_stub > copied_bytes ? target
                                                               : static_cast<std::int64_t>(distance_in_stub);
}

bool DisplacedInstructions::can_use_slot(std::uint64_t slot) const {
    for (unsigned i = 1; i < count; ++i) {
        const unsigned byte_of_slot = starts[i] - 1U; // behind opcode, ModRM and SIB
        if (!is_in(faulting, static_cast<std::uint8_t>(slot >> (8 * byte_of_slot)))) {
            return false;
        }
    }
    return true;
}

DisplacedInstructions displaced_at(std::span<const std::uint8_t> page, unsigned offset) {
    constexpr DisplacedInstructions none{};
    if (page.size() < offset + user_call_bytes || page[offset] != two_byte_opcode || page[offset + 1] != 5) {
        return none;
    }
    const Code code = page.subspan(offset + system_call_bytes);
    DisplacedInstructions found{};
    std::size_t at = 0;
    while (at < bytes_covered) {
        if (!can_begin_at(at) || found.count == DisplacedInstructions::most) {
            return none;
        }
        found.starts[found.count++] = static_cast<std::uint8_t>(at);
        Transfer transfer{};
        if (read_transfer(code.subspan(at), transfer)) {
            found.copied_bytes =
                static_cast<std::uint8_t>(at + (transfer.end == End::ret ? transfer.bytes : 0));
            std::memcpy(found.copied, code.data(), found.copied_bytes);
            at += transfer.bytes;
            found.bytes = static_cast<std::uint8_t>(at);
            found.end = transfer.end;
            const bool is_far = __builtin_add_overflow(transfer.displacement, at, &found.target);
            return !is_far && is_padding(code, at) ? found : none;
        }
        const std::size_t length = movable_length(code.subspan(at));
        if (length == 0 || at + length > code.size() || at + length > DisplacedInstructions::most_copied) {
            return none;
        }
        at += length;
    }
    std::memcpy(found.copied, code.data(), at);
    found.copied_bytes = static_cast<std::uint8_t>(at);
    found.bytes = found.copied_bytes;
    found.target = found.bytes;
    return found;
}

// The copies; pushq *return_address; jmp *target
std::uint8_t* put_displaced(std::uint8_t* to, const DisplacedInstructions& displaced, StubEnd end) {
    std::memcpy(to, displaced.copied, displaced.copied_bytes);
    to += displaced.copied_bytes;
    if (displaced.end == End::call) {
        to = put(put(to, 0x2534ff, 3), end.return_address, 4);
    }
    return displaced.end == End::ret ? to : put(put(to, 0x2524ff, 3), end.target, 4);
}

// Uses the only SIB byte for this that faults as an opcode.
void put_user_call_jump(std::uint8_t* to, std::uint64_t slot) {
    put(put(to, 0xe524ff, 3), slot, 4);
}

} // namespace previrt
