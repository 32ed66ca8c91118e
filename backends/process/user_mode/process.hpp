// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/contract/user_state.hpp"

#include <cstdint>
#include <span>

// With --isolate, the guest's user mode runs in processes of its own, one beside each host process of the
// kernel's. They hold what user mode has, and a stub (user_stub.S). Linux lets them call nothing: a call of
// the stub's waits for the VMM, which sees its number and arguments and says how it ends
// (SECCOMP_RET_USER_NOTIF), and any other becomes a signal. So a user process that has stopped cannot go on
// by itself, whatever its program has done, and nobody but the VMM changes what it maps.
namespace previrt::process {

extern "C" {
extern const std::uint8_t user_stub[];
extern const std::uint8_t user_stub_signal[];
extern const std::uint8_t user_stub_stopped[];
extern const std::uint8_t user_stub_leave[];
extern const std::uint8_t user_stub_operated[];
extern const std::uint8_t user_stub_allowed[];
extern const std::uint8_t user_stub_left[];
extern const std::uint8_t user_stub_signal_stack[];
extern const std::uint8_t user_stub_end[];
}

// Where user processes have it.
inline std::uint64_t stub_place(const std::uint8_t* place) {
    auto offset = static_cast<std::uint64_t>(place - user_stub);
    // clang adds the address to the symbol instead, and the sum exceeds a relocation of 32 bits.
    asm("" : "+r"(offset));
    return user_stub_address + offset;
}

constexpr std::uint64_t clone_beside_us = 0x8011; // CLONE_PARENT | SIGCHLD

bool isolates();

// Before the filter of our own.
void start_user_processes();

// What the VMM has of a user process: those of host processes by their numbers.
std::uint8_t* user_part(unsigned host);
UserState& user_state(unsigned host);

// What a user process has stopped for.
struct UserStopped {
    std::uint64_t arguments[6];

    [[nodiscard]] bool is(UserStop why) const { return arguments[0] == static_cast<std::uint64_t>(why); }
};

// Makes the one of this host process, if there is none: it maps nothing of the guest's. False: the host gives
// no further process.
bool have_user_process(unsigned host);
// It does these, none of which can fail, and stops again.
void do_user_operations(unsigned host, std::span<const UserOperation> operations);
// It does these, and then goes on with its exit state, until it stops or an event has come that is not to
// wait. The last may fail, which then is what it stops for.
struct UserRun {
    bool events_may_wait;
    bool arms_stack; // that of its signals, if the last has taken it away
};
UserStopped run_user_process(unsigned host, std::span<const UserOperation> operations, UserRun how);

} // namespace previrt::process
