// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/contract/layout.hpp"
#include "backends/process/contract/user_state_offsets.h"

#include <cstddef>
#include <cstdint>

// Memory shared by the VMM and the stub of a user process (user_mode/stub.S). The guest's program can write
// to all of it while it runs: the VMM treats its contents as the program's word.
namespace previrt::process {

// A system call of the user process on the VMM's behalf.
struct UserOperation {
    std::uint64_t call;
    std::uint64_t arguments[6];
    std::uint64_t has_32_bits; // 1: of the host's 32-bit table
};

constexpr unsigned most_user_operations = 32;

// With which IRET leaves for the program.
struct UserExitFrame {
    std::uint64_t rip;
    std::uint64_t cs;
    std::uint64_t rflags;
    std::uint64_t rsp;
    std::uint64_t ss;
};

struct UserSegments {
    std::uint64_t fs_base;
    std::uint64_t gs_base;
    std::uint16_t selectors[4]; // es ds fs gs
};

struct UserState {
    // Written by the stub when it stops by a call; the segments always.
    std::uint64_t general[16];
    std::uint64_t rip;
    UserSegments segments;
    std::uint64_t call_number; // of the last rewritten system call
    std::uint64_t reserved[11];
    // Registers with which the program continues.
    std::uint64_t exit_general[16];
    std::uint64_t reserved_exit[5];
    UserSegments exit_segments;
    std::uint8_t loads_segments;
    std::uint8_t arms_stack;      // gives the signal stack back, which the last signal has taken away
    std::uint8_t then;            // after the operations
    std::uint8_t frames_are_read; // the VMM needs no signal's frame any more
    std::uint32_t started;
    std::uint64_t operation_count;
    std::uint64_t reserved_words[6];
    UserOperation operations[most_user_operations];
};
static_assert(user_stub_address == USER_STUB);
static_assert(user_state_address == USER_STATE && user_state_bytes == USER_STATE_BYTES);
static_assert(offsetof(UserState, rip) == USER_RIP - USER_STATE);
static_assert(offsetof(UserState, segments) == USER_FS_BASE - USER_STATE);
static_assert(offsetof(UserState, segments.selectors) == USER_ES - USER_STATE);
static_assert(offsetof(UserState, call_number) == USER_CALL_NUMBER - USER_STATE);
static_assert(offsetof(UserState, exit_general) == USER_EXIT - USER_STATE);
static_assert(offsetof(UserState, exit_segments) == USER_EXIT_FS_BASE - USER_STATE);
static_assert(offsetof(UserState, exit_segments.selectors) == USER_EXIT_ES - USER_STATE);
static_assert(offsetof(UserState, loads_segments) == USER_LOADS_SEGMENTS - USER_STATE);
static_assert(offsetof(UserState, arms_stack) == USER_ARMS_STACK - USER_STATE);
static_assert(offsetof(UserState, then) == USER_THEN - USER_STATE);
static_assert(offsetof(UserState, frames_are_read) == USER_FRAMES_ARE_READ - USER_STATE);
static_assert(offsetof(UserState, started) == USER_STARTED - USER_STATE);
static_assert(offsetof(UserState, operation_count) == USER_OPERATION_COUNT - USER_STATE);
static_assert(offsetof(UserState, operations) == USER_OPERATIONS - USER_STATE);
static_assert(sizeof(UserOperation) == 64 &&
              offsetof(UserOperation, has_32_bits) == USER_OPERATION_HAS_32_BITS);
static_assert(sizeof(UserState) + sizeof(std::uint64_t) <= USER_ENTRY_STACK_TOP - USER_STATE);
static_assert(USER_EXIT_VECTORS + USER_VECTOR_BYTES <= USER_EXIT_STACK);
static_assert(USER_EXIT_FRAME + sizeof(UserExitFrame) <= USER_EXIT_STACK + USER_EXIT_STACK_BYTES);
static_assert(USER_EXIT_STACK + USER_EXIT_STACK_BYTES == USER_SIGNAL_STACK); // the stub compares them
static_assert(USER_SIGNAL_STACK_TOP == USER_STATE + USER_STATE_BYTES);
// A second signal may come before the stub has changed stacks for the first one.
constexpr std::uint64_t most_signal_frame_bytes = USER_VECTOR_BYTES + 0x800;
static_assert(USER_EXIT_STACK_BYTES >= 2 * most_signal_frame_bytes);
static_assert(USER_SIGNAL_STACK_BYTES >= 2 * most_signal_frame_bytes);

constexpr std::uint64_t entry_vectors_offset = USER_ENTRY_VECTORS - USER_STATE;
constexpr std::uint64_t exit_vectors_offset = USER_EXIT_VECTORS - USER_STATE;
constexpr std::uint64_t exit_frame_offset = USER_EXIT_FRAME - USER_STATE;
constexpr std::uint64_t vector_bytes = USER_VECTOR_BYTES;

enum UserThen : std::uint8_t {
    then_stop = USER_THEN_STOP,
    then_go_on = USER_THEN_GO_ON,
    then_announce = USER_THEN_ANNOUNCE,
};

enum class UserStop : std::uint8_t {
    by_call = USER_STOP_BY_CALL,
    by_signal = USER_STOP_BY_SIGNAL,
    done = USER_STOP_DONE,
    failed = USER_STOP_FAILED,
};

// In the VMM's memory: the template's part first, then those of the host processes.
constexpr std::uint64_t user_part_bytes = calls_bytes + user_state_bytes;
constexpr std::uint64_t user_parts_bytes = page_size + ((most_hosts + 1) * user_part_bytes);

} // namespace previrt::process
