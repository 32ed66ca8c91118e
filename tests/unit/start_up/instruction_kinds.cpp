// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/instructions/arithmetic.hpp"
#include "frontends/x86/start_up/execution.hpp"
#include "tests/unit/start_up/random_case.hpp"

namespace previrt::start_up {

namespace {

using Form = CaseMaker::Form;

constexpr std::uint64_t all = outcome_flags;
constexpr std::uint64_t carry_overflow = flag_carry | flag_overflow;

unsigned width_of(const CaseMaker& maker, std::uint64_t opcode) {
    return (opcode & 1U) != 0 ? maker.operand_width : 1;
}

bool is_bitwise(std::uint64_t operation) {
    return operation == 1 || operation == 4 || operation == 6;
}

void note_arithmetic(CaseMaker& maker, std::uint64_t operation) {
    if (operation == 2 || operation == 3) {
        maker.reads(flag_carry);
    }
    maker.changes(all, is_bitwise(operation) ? std::uint64_t{flag_adjust} : 0);
}

void emit_arithmetic(CaseMaker& maker) {
    const std::uint64_t operation = maker.pick(8);
    const std::uint64_t form = maker.pick(6);
    maker.prefixes(form < 2 && operation != 7);
    maker.put((8 * operation) + form);
    if (form < 4) {
        maker.mod_rm(maker.pick(8));
    } else {
        maker.put_random(width_of(maker, form));
    }
    note_arithmetic(maker, operation);
}

void emit_arithmetic_immediate(CaseMaker& maker) {
    constexpr std::uint8_t opcodes[] = {0x80, 0x81, 0x83};
    const std::uint64_t operation = maker.pick(8);
    const std::uint8_t opcode = opcodes[maker.pick(3)];
    maker.prefixes(operation != 7);
    maker.put(opcode);
    maker.mod_rm(operation);
    maker.put_random(opcode == 0x81 ? maker.operand_width : 1);
    note_arithmetic(maker, operation);
}

void emit_test(CaseMaker& maker) {
    const std::uint64_t opcode = (maker.chance(50) ? 0x84 : 0xa8) + maker.pick(2);
    maker.prefixes();
    maker.put(opcode);
    if (opcode < 0xa8) {
        maker.mod_rm(maker.pick(8));
    } else {
        maker.put_random(width_of(maker, opcode));
    }
    maker.changes(all, flag_adjust);
}

void emit_step(CaseMaker& maker) {
    maker.prefixes();
    maker.put(0x40 + maker.pick(16));
    maker.changes(all & ~std::uint64_t{flag_carry});
}

void emit_step_group(CaseMaker& maker) {
    maker.prefixes(true);
    maker.put(0xfe + maker.pick(2));
    maker.mod_rm(maker.pick(2));
    maker.changes(all & ~std::uint64_t{flag_carry});
}

void emit_test_not_neg(CaseMaker& maker) {
    const std::uint64_t opcode = 0xf6 + maker.pick(2);
    const std::uint64_t operation = maker.pick(3) == 0 ? 0 : 2 + maker.pick(2);
    maker.prefixes(operation != 0);
    maker.put(opcode);
    maker.mod_rm(operation);
    if (operation == 0) {
        maker.put_random(width_of(maker, opcode));
        maker.changes(all, flag_adjust);
    } else if (operation == 3) {
        maker.changes(all);
    }
}

void emit_multiply(CaseMaker& maker) {
    maker.prefixes();
    maker.put(0xf6 + maker.pick(2));
    maker.mod_rm(4 + maker.pick(2));
    maker.changes(carry_overflow, all & ~carry_overflow);
}

void emit_multiply_into(CaseMaker& maker) {
    const std::uint64_t form = maker.pick(3);
    maker.prefixes();
    if (form == 0) {
        maker.put(0x0f);
        maker.put(0xaf);
        maker.mod_rm(maker.pick(8));
    } else {
        maker.put(form == 1 ? 0x69 : 0x6b);
        maker.mod_rm(maker.pick(8));
        maker.put_random(form == 1 ? maker.operand_width : 1);
    }
    maker.changes(carry_overflow, all & ~carry_overflow);
}

// EDX or AH is made small, so that most quotients fit.
void emit_divide(CaseMaker& maker) {
    maker.set_register(maker.chance(50) ? rdx : rax, static_cast<std::uint32_t>(maker.pick(0x80)));
    maker.prefixes();
    maker.put(0xf6 + maker.pick(2));
    maker.mod_rm(6 + maker.pick(2));
    maker.changes(0, all);
}

void note_shift(CaseMaker& maker, std::uint64_t operation, unsigned count, unsigned width) {
    const unsigned bits = 8 * width;
    count &= 31U;
    if (operation == 2 || operation == 3) {
        maker.reads(flag_carry);
    }
    if (count == 0) {
        return;
    }
    const std::uint64_t overflow = count == 1 ? 0 : std::uint64_t{flag_overflow};
    if (operation < 4) {
        maker.changes(carry_overflow, overflow);
        return;
    }
    const std::uint64_t carry = operation != 7 && count >= bits ? std::uint64_t{flag_carry} : 0;
    maker.changes(all, overflow | carry | flag_adjust);
}

void emit_shift(CaseMaker& maker) {
    const std::uint64_t wide = maker.pick(2);
    constexpr std::uint8_t opcodes[] = {0xc0, 0xd0, 0xd2}; // by an immediate, by 1, by CL
    const std::uint64_t operation = maker.pick(8);
    const std::uint64_t form = maker.pick(3);
    unsigned count = 1;
    maker.prefixes();
    maker.put(opcodes[form] + wide);
    maker.mod_rm(operation);
    if (form == 0) {
        count = static_cast<unsigned>(maker.pick(40));
        maker.put(count);
    } else if (form == 2) {
        count = maker.value_of(rcx) & 0xffU;
    }
    note_shift(maker, operation, count, width_of(maker, wide));
}

void emit_double_shift(CaseMaker& maker) {
    const std::uint64_t right = maker.pick(2);
    const bool is_by_cl = maker.chance(50);
    unsigned count = maker.value_of(rcx) & 0xffU;
    maker.prefixes();
    maker.put(0x0f);
    maker.put(0xa4 + (8 * right) + (is_by_cl ? 1 : 0));
    maker.mod_rm(maker.pick(8));
    if (!is_by_cl) {
        count = static_cast<unsigned>(maker.pick(34));
        maker.put(count);
    }
    count &= 31U;
    if (count != 0) {
        maker.changes(all, flag_adjust | (count == 1 ? 0 : std::uint64_t{flag_overflow}));
    }
}

void emit_extend(CaseMaker& maker) {
    maker.prefixes();
    maker.put(0x98 + maker.pick(2));
}

void emit_bit_by_immediate(CaseMaker& maker) {
    const std::uint64_t action = maker.pick(4);
    maker.prefixes(action != 0);
    maker.put(0x0f);
    maker.put(0xba);
    maker.mod_rm(4 + action);
    maker.put(maker.pick(256));
    maker.changes(flag_carry, all & ~std::uint64_t{flag_carry | flag_zero});
}

void emit_bit_by_register(CaseMaker& maker) {
    constexpr std::uint8_t opcodes[] = {0xa3, 0xab, 0xb3, 0xbb};
    const std::uint64_t action = maker.pick(4);
    maker.prefixes(action != 0);
    maker.put(0x0f);
    maker.put(opcodes[action]);
    maker.mod_rm(maker.pick(8));
    maker.changes(flag_carry, all & ~std::uint64_t{flag_carry | flag_zero});
}

void emit_scan(CaseMaker& maker) {
    maker.prefixes();
    maker.put(0x0f);
    maker.put(0xbc + maker.pick(2));
    maker.mod_rm(maker.pick(8));
    maker.changes(flag_zero, all & ~std::uint64_t{flag_zero});
}

void emit_swap_bytes(CaseMaker& maker) {
    if (!maker.has_32_bits()) {
        maker.put(0x66);
    }
    maker.put(0x0f);
    maker.put(0xc8 + maker.pick(8));
}

void emit_move(CaseMaker& maker) {
    maker.prefixes();
    maker.put(0x88 + maker.pick(4));
    maker.mod_rm(maker.pick(8));
}

void emit_move_immediate(CaseMaker& maker) {
    const std::uint64_t form = maker.pick(3);
    const std::uint64_t wide = maker.pick(2);
    maker.prefixes();
    if (form == 0) {
        maker.put(0xc6 + wide);
        maker.mod_rm(0);
        maker.put_random(width_of(maker, wide));
    } else if (form == 1) {
        maker.put(0xb0 + maker.pick(8));
        maker.put_random(1);
    } else {
        maker.put(0xb8 + maker.pick(8));
        maker.put_random(maker.operand_width);
    }
}

void emit_move_accumulator(CaseMaker& maker) {
    maker.prefixes();
    maker.put(0xa0 + maker.pick(4));
    maker.put_number(maker.pick(0xfffc), maker.address_width);
}

void emit_move_extended(CaseMaker& maker) {
    constexpr std::uint8_t opcodes[] = {0xb6, 0xb7, 0xbe, 0xbf};
    maker.prefixes();
    maker.put(0x0f);
    maker.put(opcodes[maker.pick(4)]);
    maker.mod_rm(maker.pick(8));
}

void emit_move_if(CaseMaker& maker) {
    maker.prefixes();
    maker.put(0x0f);
    maker.put(0x40 + maker.pick(16));
    maker.mod_rm(maker.pick(8));
    maker.reads(all);
}

void emit_set_if(CaseMaker& maker) {
    maker.prefixes();
    maker.put(0x0f);
    maker.put(0x90 + maker.pick(16));
    maker.mod_rm(0);
    maker.reads(all);
}

void emit_load_address(CaseMaker& maker) {
    maker.prefixes();
    maker.put(0x8d);
    maker.mod_rm(maker.pick(8), Form::memory);
}

void emit_exchange(CaseMaker& maker) {
    maker.prefixes(true);
    maker.put(0x86 + maker.pick(2));
    maker.mod_rm(maker.pick(8));
}

void emit_exchange_accumulator(CaseMaker& maker) {
    maker.prefixes();
    maker.put(0x90 + maker.pick(8));
}

void emit_exchange_and_add(CaseMaker& maker) {
    maker.prefixes(true);
    maker.put(0x0f);
    maker.put(0xc0 + maker.pick(2));
    maker.mod_rm(maker.pick(8));
    maker.changes(all);
}

void emit_compare_and_exchange(CaseMaker& maker) {
    maker.prefixes(true);
    maker.put(0x0f);
    maker.put(0xb0 + maker.pick(2));
    maker.mod_rm(maker.pick(8));
    maker.changes(all);
}

void emit_translate(CaseMaker& maker) {
    maker.set_register(rbx, static_cast<std::uint32_t>(maker.pick(0xff00)));
    maker.prefixes();
    maker.put(0xd7);
}

void emit_move_from_segment(CaseMaker& maker) {
    maker.prefixes();
    maker.put(0x8c);
    maker.mod_rm(maker.pick(6));
}

// The value of another segment register. In protected mode the case's end needs DS.
void emit_move_to_segment(CaseMaker& maker) {
    constexpr std::uint8_t from[] = {0, 2, 3, 4, 5};
    constexpr std::uint8_t to[] = {0, 2, 4, 5, 3};
    const std::uint64_t target = to[maker.pick(maker.has_32_bits() ? 4 : 5)];
    const std::uint64_t source = from[maker.pick(5)];
    const std::uint64_t number = maker.pick(8);
    maker.put(0x8c);
    maker.put(0xc0 | (source << 3U) | number);
    maker.put(0x8e);
    maker.put(0xc0 | (target << 3U) | number);
}

void emit_push(CaseMaker& maker) {
    const std::uint64_t form = maker.pick(4);
    maker.prefixes();
    if (form == 0) {
        maker.put(0x50 + maker.pick(8));
    } else if (form == 1) {
        maker.put(0x6a);
        maker.put_random(1);
    } else if (form == 2) {
        maker.put(0x68);
        maker.put_random(maker.operand_width);
    } else {
        maker.put(0xff);
        maker.mod_rm(6);
    }
}

void emit_pop(CaseMaker& maker) {
    maker.prefixes();
    if (maker.chance(50)) {
        maker.put(0x58 + maker.pick(8));
    } else {
        maker.put(0x8f);
        maker.mod_rm(0);
    }
}

void emit_push_all(CaseMaker& maker) {
    maker.prefixes();
    maker.put(0x60 + maker.pick(2));
}

void emit_push_segment(CaseMaker& maker) {
    const std::uint64_t number = maker.pick(6);
    maker.prefixes();
    if (number < 4) {
        maker.put(0x06 + (8 * number));
    } else {
        maker.put(0x0f);
        maker.put(0x80 + (8 * number));
    }
}

void emit_pop_segment(CaseMaker& maker) {
    const bool is_fs = maker.chance(50);
    maker.prefixes();
    maker.put(0x06 + (8 * (maker.chance(50) ? 0 : 2)));
    maker.prefixes();
    if (is_fs) {
        maker.put(0x0f);
        maker.put(0xa1);
    } else {
        maker.put(0x07);
    }
}

void emit_push_flags(CaseMaker& maker) {
    maker.prefixes();
    maker.put(0x9c);
    maker.reads(all);
}

void emit_pop_flags(CaseMaker& maker) {
    constexpr std::uint64_t trap = 0x100;
    maker.prefixes();
    const bool has_32_bits = maker.operand_width == 4;
    const bool prefixed = has_32_bits != maker.has_32_bits();
    maker.put(0x68);
    maker.put_number(maker.number() & ~trap, maker.operand_width);
    if (prefixed) {
        maker.put(0x66);
    }
    maker.put(0x9d);
    maker.changes(all);
}

void emit_leave(CaseMaker& maker) {
    maker.set_register(rbp, static_cast<std::uint32_t>(0x1000 + (2 * maker.pick(0x6000))));
    maker.prefixes();
    maker.put(0xc9);
}

void emit_string(CaseMaker& maker) {
    constexpr std::uint8_t opcodes[] = {0xa4, 0xaa, 0xac};
    maker.set_register(rcx, static_cast<std::uint32_t>(maker.pick(20)));
    maker.set_register(rsi, static_cast<std::uint32_t>(maker.pick(0xff00)));
    maker.set_register(rdi, static_cast<std::uint32_t>(maker.pick(0xff00)));
    maker.prefixes();
    if (maker.chance(60)) {
        maker.put(0xf3);
    }
    maker.put(opcodes[maker.pick(3)] + maker.pick(2));
}

void emit_comparing_string(CaseMaker& maker) {
    const auto count = static_cast<std::uint32_t>(maker.pick(20));
    maker.set_register(rcx, count);
    maker.set_register(rsi, static_cast<std::uint32_t>(maker.pick(0xff00)));
    maker.set_register(rdi, static_cast<std::uint32_t>(maker.pick(0xff00)));
    maker.prefixes();
    const std::uint64_t repeat = maker.pick(3);
    if (repeat != 2) {
        maker.put(0xf2 + repeat);
    }
    maker.put((maker.chance(50) ? 0xa6 : 0xae) + maker.pick(2));
    if (repeat == 2 || count != 0) {
        maker.changes(all);
    }
}

// Jumps lead over an inc.
void put_skipped(CaseMaker& maker) {
    maker.put(0x40 + maker.pick(8));
}

void emit_jump_if(CaseMaker& maker) {
    const bool is_near = maker.chance(50);
    maker.prefixes();
    maker.reads(all);
    if (is_near) {
        maker.put(0x0f);
        maker.put(0x80 + maker.pick(16));
        maker.put_number(1, maker.operand_width);
    } else {
        maker.put(0x70 + maker.pick(16));
        maker.put(1);
    }
    put_skipped(maker);
}

void emit_loop(CaseMaker& maker) {
    if (maker.chance(50)) {
        maker.set_register(rcx, static_cast<std::uint32_t>(maker.pick(3)) << (16 * maker.pick(2)));
    }
    maker.prefixes();
    maker.reads(all);
    maker.put(0xe0 + maker.pick(4));
    maker.put(1);
    put_skipped(maker);
}

// A jump leads over one that leads on, to one that leads back to that.
void emit_jump_back(CaseMaker& maker) {
    const bool is_short = maker.chance(50);
    const bool is_prefixed = maker.chance(30);
    const unsigned usual = maker.has_32_bits() ? 4 : 2;
    const unsigned width = is_prefixed ? 6 - usual : usual;
    const unsigned bytes = (is_prefixed ? 1 : 0) + 1 + (is_short ? 1 : width);
    maker.put(0xeb);
    maker.put(2);
    maker.put(0xeb);
    maker.put(bytes);
    if (is_prefixed) {
        maker.put(0x66);
    }
    maker.put(is_short ? 0xeb : 0xe9);
    maker.put_number(~std::uint64_t{0} - bytes - 1, is_short ? 1 : width);
}

void emit_jump(CaseMaker& maker) {
    const std::uint64_t form = maker.pick(4);
    maker.prefixes();
    if (form == 0) {
        maker.put(0xeb);
        maker.put(1);
    } else if (form == 1) {
        maker.put(0xe9);
        maker.put_number(1, maker.operand_width);
    } else if (form == 2) {
        maker.put(0xe8);
        maker.put_number(1, maker.operand_width);
    } else {
        const std::uint32_t target = maker.end() + 1 + maker.operand_width + 2 + 1;
        maker.put(maker.chance(50) ? 0xea : 0x9a);
        maker.put_number(target, maker.operand_width);
        maker.put_number(maker.code_selector(), 2);
    }
    put_skipped(maker);
}

// call and jmp of a register or of a word of memory.
void emit_indirect_jump(CaseMaker& maker) {
    const bool calls = maker.chance(50);
    const bool is_memory = maker.chance(50);
    const std::uint64_t number = maker.pick(8) & 3U;
    const std::uint32_t before = maker.end();
    const unsigned moves = maker.has_32_bits() ? 5 : 6;
    const unsigned direct_bytes = maker.has_32_bits() ? 6 : 4;
    const unsigned stores = is_memory ? direct_bytes : 0;
    const unsigned jumps = is_memory ? direct_bytes : 2;
    maker.set_register(number, before + moves + stores + jumps + 1);
    const unsigned address_width = maker.has_32_bits() ? 4 : 2;
    const std::uint64_t direct = maker.has_32_bits() ? 5 : 6;
    const std::uint64_t place = maker.pick(0xfff0);
    if (is_memory) {
        maker.put(0x89);
        maker.put((number << 3U) | direct);
        maker.put_number(place, address_width);
        maker.put(0xff);
        maker.put((calls ? 0x10 : 0x20) | direct);
        maker.put_number(place, address_width);
    } else {
        maker.put(0xff);
        maker.put((calls ? 0xd0 : 0xe0) | number);
    }
    put_skipped(maker);
}

void put_pushed(CaseMaker& maker, std::uint64_t value) {
    maker.put(0x68);
    maker.put_number(value, maker.has_32_bits() ? 4 : 2);
}

void emit_return(CaseMaker& maker) {
    // QEMU's lret reads the selector at offset 0x10000 of the stack, where a processor's SP wraps to 0.
    const bool wraps = !maker.has_32_bits() && (maker.value_of(rsp) & 0xffffU) == 2;
    const bool is_far = maker.chance(50) && !wraps;
    const bool releases = maker.chance(50);
    const unsigned push_bytes = maker.has_32_bits() ? 5 : 3;
    const std::uint32_t target =
        maker.end() + (is_far ? 2 * push_bytes : push_bytes) + (releases ? 3 : 1) + 1;
    if (is_far) {
        put_pushed(maker, maker.code_selector());
    }
    put_pushed(maker, target);
    maker.put((is_far ? 0xca : 0xc2) + (releases ? 0 : 1));
    if (releases) {
        maker.put_number(maker.pick(64), 2);
    }
    put_skipped(maker);
}

void emit_return_from_interrupt(CaseMaker& maker) {
    const unsigned push_bytes = maker.has_32_bits() ? 5 : 3;
    maker.reads(all);
    const std::uint32_t target = maker.end() + 1 + (2 * push_bytes) + 1 + 1;
    maker.put(0x9c);
    put_pushed(maker, maker.code_selector());
    put_pushed(maker, target);
    maker.put(0xcf);
    put_skipped(maker);
}

void emit_change_flag(CaseMaker& maker) {
    constexpr std::uint8_t opcodes[] = {0xf5, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd};
    const std::uint8_t opcode = opcodes[maker.pick(7)];
    maker.put(opcode);
    if (opcode == 0xf5) {
        maker.reads(flag_carry);
    } else if (opcode < 0xfa) {
        maker.changes(flag_carry);
    }
}

void emit_flags_and_ah(CaseMaker& maker) {
    if (maker.chance(50)) {
        maker.put(0x9e);
        maker.changes(all & ~std::uint64_t{flag_overflow});
    } else {
        maker.put(0x9f);
        maker.reads(all & ~std::uint64_t{flag_overflow});
    }
}

void emit_nothing(CaseMaker& maker) {
    maker.prefixes();
    if (maker.chance(50)) {
        maker.put(0xf3);
        maker.put(0x90);
    } else {
        maker.put(0x0f);
        maker.put(0x1f);
        maker.mod_rm(0);
    }
}

// les and lds would load selectors that no table has: the pointer is stored first.
void emit_load_far_pointer(CaseMaker& maker) {
    const bool wide = maker.has_32_bits();
    const std::uint64_t direct = wide ? 5 : 6;
    const std::uint64_t place = maker.pick(0xfff0);
    const std::uint64_t source = maker.pick(2) + 4;
    const std::uint64_t target = maker.pick(3);
    const unsigned width = wide ? 4 : 2;
    maker.put(0x8c);
    maker.put((source << 3U) | direct);
    maker.put_number(place + width, width);
    if (target == 0) {
        maker.put(0xc4);
    } else {
        maker.put(0x0f);
        maker.put(target == 1 ? 0xb4 : 0xb5);
    }
    maker.put((maker.pick(8) << 3U) | direct);
    maker.put_number(place, width);
}

constexpr InstructionKind kinds[] = {
    {"add or adc sbb and sub xor cmp", emit_arithmetic},
    {"the same with an immediate", emit_arithmetic_immediate},
    {"test", emit_test},
    {"inc dec of a register", emit_step},
    {"inc dec", emit_step_group},
    {"test not neg", emit_test_not_neg},
    {"mul imul", emit_multiply},
    {"imul of two or three operands", emit_multiply_into},
    {"div idiv", emit_divide},
    {"shifts and rotations", emit_shift},
    {"shld shrd", emit_double_shift},
    {"cbw cwd", emit_extend},
    {"bt bts btr btc by an immediate", emit_bit_by_immediate},
    {"bt bts btr btc by a register", emit_bit_by_register},
    {"bsf bsr", emit_scan},
    {"bswap", emit_swap_bytes},
    {"mov", emit_move},
    {"mov of an immediate", emit_move_immediate},
    {"mov of the accumulator", emit_move_accumulator},
    {"movzx movsx", emit_move_extended},
    {"cmovcc", emit_move_if},
    {"setcc", emit_set_if},
    {"lea", emit_load_address},
    {"xchg", emit_exchange},
    {"xchg with the accumulator", emit_exchange_accumulator},
    {"xadd", emit_exchange_and_add},
    {"cmpxchg", emit_compare_and_exchange},
    {"xlat", emit_translate},
    {"mov from a segment register", emit_move_from_segment},
    {"mov to a segment register", emit_move_to_segment},
    {"push", emit_push},
    {"pop", emit_pop},
    {"pusha popa", emit_push_all},
    {"push of a segment register", emit_push_segment},
    {"pop of a segment register", emit_pop_segment},
    {"pushf", emit_push_flags},
    {"popf", emit_pop_flags},
    {"leave", emit_leave},
    {"movs stos lods", emit_string},
    {"cmps scas", emit_comparing_string},
    {"jcc", emit_jump_if},
    {"loop jcxz", emit_loop},
    {"jmp call", emit_jump},
    {"jmp backwards", emit_jump_back},
    {"jmp call by an operand", emit_indirect_jump},
    {"ret", emit_return},
    {"iret", emit_return_from_interrupt},
    {"clc stc cli sti cld std cmc", emit_change_flag},
    {"sahf lahf", emit_flags_and_ah},
    {"nop pause", emit_nothing},
    {"les lfs lgs", emit_load_far_pointer},
};

} // namespace

std::span<const InstructionKind> instruction_kinds() {
    return kinds;
}

} // namespace previrt::start_up
