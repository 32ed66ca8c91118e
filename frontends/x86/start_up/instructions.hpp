// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/start_up/execution.hpp"

// One function for each group of opcodes. The opcode and what stands before it are read.
namespace previrt::start_up {

// arithmetic_instructions.cpp
void arithmetic(Execution& execution);           // add or adc sbb and sub xor cmp: opcodes 00 to 3d
void arithmetic_immediate(Execution& execution); // 80 to 83
void test_operands(Execution& execution);        // 84 85
void test_immediate(Execution& execution);       // a8 a9
void step_register(Execution& execution);        // inc, dec: 40 to 4f
void unary_group(Execution& execution);          // f6 f7: test not neg mul imul div idiv
void step_group(Execution& execution);           // fe: inc dec
void step_operand(Execution& execution, const ModRm& operands);
void multiply_by_immediate(Execution& execution);
void multiply_register(Execution& execution);
void shift_by_immediate(Execution& execution);
void shift_by_one(Execution& execution);
void shift_by_cl(Execution& execution);
void extend_accumulator(Execution& execution); // cbw cwde
void extend_to_rdx(Execution& execution);      // cwd cdq
void exchange_and_add(Execution& execution);
void compare_and_exchange(Execution& execution);

// bit_instructions.cpp
void bit_by_register(Execution& execution);  // bt bts btr btc
void bit_by_immediate(Execution& execution); // the same
void scan_bits(Execution& execution);        // bsf bsr
void shift_double(Execution& execution);     // shld shrd
void swap_bytes(Execution& execution);

// data_instructions.cpp
void move_to_operand(Execution& execution);
void move_to_register(Execution& execution);
void move_immediate(Execution& execution);          // c6 c7
void move_immediate_to_byte(Execution& execution);  // b0 to b7
void move_immediate_to_whole(Execution& execution); // b8 to bf
void move_accumulator(Execution& execution);        // a0 to a3
void move_from_segment(Execution& execution);
void move_to_segment(Execution& execution);
void move_extended(Execution& execution);    // movzx movsx
void move_if(Execution& execution);          // cmovcc
void set_if(Execution& execution);           // setcc
void load_address(Execution& execution);     // lea
void load_far_pointer(Execution& execution); // les lds lss lfs lgs
void exchange(Execution& execution);
void exchange_accumulator(Execution& execution); // 90 to 97: nop and pause too
void translate_byte(Execution& execution);       // xlat

// stack_instructions.cpp
void push_register(Execution& execution);
void pop_register(Execution& execution);
void push_immediate(Execution& execution);
void pop_operand(Execution& execution);
void push_segment(Execution& execution);
void pop_segment(Execution& execution);
void push_flags(Execution& execution);
void pop_flags(Execution& execution);
void push_all(Execution& execution);
void pop_all(Execution& execution);
void leave_frame(Execution& execution);
void load_flags(Execution& execution, std::uint32_t value, unsigned width); // as popf does

// string_instructions.cpp
void move_string(Execution& execution);
void compare_string(Execution& execution);
void store_string(Execution& execution);
void load_string(Execution& execution);
void scan_string(Execution& execution);

// transfer_instructions.cpp
void jump_short(Execution& execution);
void jump_near(Execution& execution);
void jump_far(Execution& execution);
void jump_if_short(Execution& execution);
void jump_if_near(Execution& execution);
void loop(Execution& execution); // loopne loope loop jcxz
void call_near(Execution& execution);
void call_far(Execution& execution);
void return_near(Execution& execution);
void return_far(Execution& execution);
void return_from_interrupt(Execution& execution);
void transfer_group(Execution& execution); // ff: inc dec call jmp push

// flag_instructions.cpp
void change_flag(Execution& execution); // cmc clc stc cli sti cld std
void load_ah_from_flags(Execution& execution);
void store_ah_in_flags(Execution& execution);

// system_instructions.cpp
void halt(Execution& execution);
void do_nothing(Execution& execution); // wbinvd invd
void do_nothing_with_operand(Execution& execution);
void fence(Execution& execution);
void read_port(Execution& execution);
void write_port(Execution& execution);
void identify(Execution& execution); // cpuid
void read_time_stamp(Execution& execution);
void read_model_register(Execution& execution);
void write_model_register(Execution& execution);
void local_table_group(Execution& execution); // 0f 00
void table_group(Execution& execution);       // 0f 01: sgdt sidt lgdt lidt smsw lmsw invlpg

// control_register_instructions.cpp
void read_control_register(Execution& execution);
void write_control_register(Execution& execution);
void read_debug_register(Execution& execution);
void write_debug_register(Execution& execution);
void clear_task_switched(Execution& execution);
void load_cr0(Execution& execution, std::uint64_t value);

} // namespace previrt::start_up
