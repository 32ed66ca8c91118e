// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/contract/user_state.hpp"

#include <cstdint>
#include <span>

// With --isolate, the guest's user mode runs in processes of its own, one beside each host process of the
// kernel. They map user mode's pages and a stub (stub.S). Linux lets them make no call: a call of the stub
// waits for the VMM, which sees its number and arguments and decides its result (SECCOMP_RET_USER_NOTIF), and
// any other call becomes a signal. So a stopped user process cannot continue by itself, whatever its program
// has done, and only the VMM changes its mappings.
namespace previrt::process {

extern "C" {
extern const std::uint8_t user_stub[];
extern const std::uint8_t user_stub_pushes[];
extern const std::uint8_t user_stub_signal[];
extern const std::uint8_t user_stub_stop[];
extern const std::uint8_t user_stub_stopped[];
extern const std::uint8_t user_stub_leave[];
extern const std::uint8_t user_stub_operated[];
extern const std::uint8_t user_stub_operated_32[];
extern const std::uint8_t user_stub_allowed[];
extern const std::uint8_t user_stub_operations_done[];
extern const std::uint8_t user_stub_left[];
extern const std::uint8_t user_stub_signal_stack[];
extern const std::uint8_t user_stub_end[];
}

// The address in user processes.
inline std::uint64_t stub_place(const std::uint8_t* place) {
    auto offset = static_cast<std::uint64_t>(place - user_stub);
    // clang adds the address to the symbol instead, and the sum exceeds a relocation of 32 bits.
    asm("" : "+r"(offset));
    return user_stub_address + offset;
}

constexpr std::uint64_t clone_beside_us = 0x8011; // CLONE_PARENT | SIGCHLD

bool isolates();

// Called before the VMM's own filter.
void start_user_processes();

// The VMM's mapping of a user process's part, by the number of its host process.
std::uint8_t* user_part(unsigned host);
UserState& user_state(unsigned host);

// The reason why a user process stopped.
struct UserStopped {
    std::uint64_t arguments[6];

    [[nodiscard]] bool is(UserStop why) const { return arguments[0] == static_cast<std::uint64_t>(why); }
};

// Makes the user process of this host process, if there is none; it maps nothing of the guest's. False: the
// host gives no further process.
bool have_user_process(unsigned host);
// The user process makes these calls, none of which can fail, and stops again.
void do_user_operations(unsigned host, std::span<const UserOperation> operations);
// The user process makes these calls and then continues with its exit state, until it stops or an urgent
// event comes. A call may fail; then the process stops with that failure. Other processors may execute the
// VMM meanwhile.
struct UserRun {
    bool events_may_wait;
    bool stops_at_once; // no event needs to stop it
    bool needs_frames;  // it goes back to where it handles a signal. Else it gets its signal stack back.
};
UserStopped run_user_process(unsigned host, std::span<const UserOperation> operations, UserRun how);
// Whether this processor runs a program there now.
bool runs_user_process(unsigned processor);

} // namespace previrt::process
