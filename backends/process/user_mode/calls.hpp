// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>
#include <optional>

// System calls of user mode that do not pass through the host. If a site calls often, the VMM replaces
//
//     0f 05            syscall          by     ff 24 e5 SLOT    jmp *SLOT
//     48 3d IMM32      cmp $IMM, %rax
//
// in a copy of the page, which the program executes in place of the guest's page. The instructions behind the
// system call may be others (displaced_instructions.hpp). SLOT is in memory of the process's own, because
// different processes may map the copy at different addresses. It holds the address of a stub: the stub
// enters the VMM as `syscall` would enter the kernel, and then executes these instructions. Wherever the
// processor is, the guest sees the address of its own instruction. A jump to an instruction behind the system
// call meets `e5` or a byte of SLOT, which faults, and continues in the stub.
//
// A process maps the guest's own page until it executes that page, or a neighbour that the host maps with it:
// a program that translates other programs' code only reads it, and must not find the jump.
namespace previrt::process {

void start_user_calls();
// With --isolate: for the new user process beside this host process.
void start_user_calls_of(unsigned host);

// The host reported a system call of the instruction before `next`.
void note_user_call(backend::TableNumber root, std::uint64_t next);

// A range that was mapped for execution or for writing, with its first frame in the file.
struct UserMapping {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t frame;
    bool is_writable;
    bool is_executed; // now; otherwise perhaps later
};
void follow_mapping(backend::TableNumber root, const UserMapping& mapping);
// The current process, or the user process of this host process, has unmapped this range.
void forget_user_calls(std::uint64_t address, std::uint64_t bytes);
void forget_user_calls(unsigned host, std::uint64_t address, std::uint64_t bytes);

// The guest's kernel writes to RAM by the map of all RAM. True: it could not, and now can.
bool let_kernel_write(std::uint64_t address);
// Calls `action` for frames that the kernel may not write, because a copy is executed in their place.
void for_each_executed_frame(void (*action)(std::uint64_t frame));

// True: the fault came because a stub was not made yet, or by a jump behind a site, and is resolved.
bool resolve_user_call(std::uint64_t address);

} // namespace previrt::process
