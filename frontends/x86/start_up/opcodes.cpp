// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/start_up/opcodes.hpp"

#include "frontends/x86/start_up/instructions.hpp"

#include <cstdint>
#include <initializer_list>

namespace previrt::start_up {

namespace {

using Execute = void (*)(Execution&);

void unknown(Execution& execution) {
    execution.refuse("an unknown opcode");
}

struct Map {
    Execute of[256];

    constexpr void put(std::initializer_list<std::uint8_t> opcodes, Execute execute) {
        for (const std::uint8_t opcode : opcodes) {
            of[opcode] = execute;
        }
    }
    constexpr void put_range(unsigned first, unsigned last, Execute execute) {
        for (unsigned opcode = first; opcode <= last; ++opcode) {
            of[opcode] = execute;
        }
    }
};

constexpr void put_arithmetic(Map& map) {
    for (unsigned operation = 0; operation < 8; ++operation) {
        map.put_range(8 * operation, (8 * operation) + 5, arithmetic);
    }
    map.put_range(0x40, 0x4f, step_register);
    map.put({0x69, 0x6b}, multiply_by_immediate);
    map.put_range(0x80, 0x83, arithmetic_immediate);
    map.put({0x84, 0x85}, test_operands);
    map.put({0x98}, extend_accumulator);
    map.put({0x99}, extend_to_rdx);
    map.put({0xa8, 0xa9}, test_immediate);
    map.put({0xc0, 0xc1}, shift_by_immediate);
    map.put({0xd0, 0xd1}, shift_by_one);
    map.put({0xd2, 0xd3}, shift_by_cl);
    map.put({0xf6, 0xf7}, unary_group);
    map.put({0xfe}, step_group);
}

constexpr void put_moves(Map& map) {
    map.put({0x86, 0x87}, exchange);
    map.put({0x88, 0x89}, move_to_operand);
    map.put({0x8a, 0x8b}, move_to_register);
    map.put({0x8c}, move_from_segment);
    map.put({0x8d}, load_address);
    map.put({0x8e}, move_to_segment);
    map.put_range(0x90, 0x97, exchange_accumulator);
    map.put_range(0xa0, 0xa3, move_accumulator);
    map.put_range(0xb0, 0xb7, move_immediate_to_byte);
    map.put_range(0xb8, 0xbf, move_immediate_to_whole);
    map.put({0xc4, 0xc5}, load_far_pointer);
    map.put({0xc6, 0xc7}, move_immediate);
    map.put({0xd7}, translate_byte);
    map.put({0xa4, 0xa5}, move_string);
    map.put({0xa6, 0xa7}, compare_string);
    map.put({0xaa, 0xab}, store_string);
    map.put({0xac, 0xad}, load_string);
    map.put({0xae, 0xaf}, scan_string);
}

constexpr void put_stack(Map& map) {
    map.put({0x06, 0x0e, 0x16, 0x1e}, push_segment);
    map.put({0x07, 0x17, 0x1f}, pop_segment);
    map.put_range(0x50, 0x57, push_register);
    map.put_range(0x58, 0x5f, pop_register);
    map.put({0x60}, push_all);
    map.put({0x61}, pop_all);
    map.put({0x68, 0x6a}, push_immediate);
    map.put({0x8f}, pop_operand);
    map.put({0x9c}, push_flags);
    map.put({0x9d}, pop_flags);
    map.put({0xc9}, leave_frame);
}

constexpr void put_transfers(Map& map) {
    map.put_range(0x70, 0x7f, jump_if_short);
    map.put({0x9a}, call_far);
    map.put({0xc2, 0xc3}, return_near);
    map.put({0xca, 0xcb}, return_far);
    map.put({0xcf}, return_from_interrupt);
    map.put_range(0xe0, 0xe3, loop);
    map.put({0xe8}, call_near);
    map.put({0xe9}, jump_near);
    map.put({0xea}, jump_far);
    map.put({0xeb}, jump_short);
    map.put({0xff}, transfer_group);
}

constexpr void put_system(Map& map) {
    map.put({0x9e}, store_ah_in_flags);
    map.put({0x9f}, load_ah_from_flags);
    map.put({0xe4, 0xe5, 0xec, 0xed}, read_port);
    map.put({0xe6, 0xe7, 0xee, 0xef}, write_port);
    map.put({0xf4}, halt);
    map.put({0xf5}, change_flag);
    map.put_range(0xf8, 0xfd, change_flag);
}

constexpr Map all_unknown() {
    Map map{};
    map.put_range(0, 255, unknown);
    return map;
}

constexpr Map make_one_byte_map() {
    Map map = all_unknown();
    put_arithmetic(map);
    put_moves(map);
    put_stack(map);
    put_transfers(map);
    put_system(map);
    return map;
}

constexpr Map make_two_byte_map() {
    Map map = all_unknown();
    map.put({0x00}, local_table_group);
    map.put({0x01}, table_group);
    map.put({0x06}, clear_task_switched);
    map.put({0x08, 0x09}, do_nothing);
    map.put_range(0x18, 0x1f, do_nothing_with_operand);
    map.put({0x20}, read_control_register);
    map.put({0x21}, read_debug_register);
    map.put({0x22}, write_control_register);
    map.put({0x23}, write_debug_register);
    map.put({0x30}, write_model_register);
    map.put({0x31}, read_time_stamp);
    map.put({0x32}, read_model_register);
    map.put_range(0x40, 0x4f, move_if);
    map.put_range(0x80, 0x8f, jump_if_near);
    map.put_range(0x90, 0x9f, set_if);
    map.put({0xa0, 0xa8}, push_segment);
    map.put({0xa1, 0xa9}, pop_segment);
    map.put({0xa2}, identify);
    map.put({0xa3, 0xab, 0xb3, 0xbb}, bit_by_register);
    map.put({0xa4, 0xa5, 0xac, 0xad}, shift_double);
    map.put({0xae}, fence);
    map.put({0xaf}, multiply_register);
    map.put({0xb0, 0xb1}, compare_and_exchange);
    map.put({0xb2, 0xb4, 0xb5}, load_far_pointer);
    map.put({0xb6, 0xb7, 0xbe, 0xbf}, move_extended);
    map.put({0xba}, bit_by_immediate);
    map.put({0xbc, 0xbd}, scan_bits);
    map.put({0xc0, 0xc1}, exchange_and_add);
    map.put_range(0xc8, 0xcf, swap_bytes);
    return map;
}

constexpr Map one_byte_map = make_one_byte_map();
constexpr Map two_byte_map = make_two_byte_map();
constexpr std::uint8_t two_byte_opcode = 0x0f;

} // namespace

void execute_opcode(Execution& execution) {
    if (execution.opcode != two_byte_opcode) {
        one_byte_map.of[execution.opcode](execution);
        return;
    }
    execution.read_second_opcode();
    two_byte_map.of[execution.opcode](execution);
}

} // namespace previrt::start_up
