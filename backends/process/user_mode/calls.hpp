// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>
#include <optional>

// System calls of user mode that do not pass the host. A site that makes many, and that is followed by a
// comparison of the result, as C libraries have it,
//
//     0f 05            syscall          becomes     ff 24 e5 SLOT    jmp *SLOT
//     48 3d IMM32      cmp $IMM, %rax
//
// in a copy of its page, which is what is executed in place of the guest's. SLOT lies in memory of the
// process's own, as the copy may be used at different addresses in different processes, and names a stub
// there: it enters the VMM as `syscall` would the kernel, and has the comparison. Wherever execution is, the
// guest sees the address of its own instruction. Whoever jumps behind the site meets `e5`, which faults, and
// goes on in the stub.
//
// A process has the guest's own page until it executes that, or a neighbour that the host maps with it. A
// program that translates others' code only reads theirs, and must not find the jump.
namespace previrt::process {

void start_user_calls();
// With --isolate: of the user process beside this host process, which is new.
void start_user_calls_of(unsigned host);

// A system call came by the host, from the instruction before `next`.
void note_user_call(backend::TableNumber root, std::uint64_t next);

// A range that was mapped for execution or for writing, from this frame of the file on.
struct UserMapping {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t frame;
    bool is_writable;
    bool is_executed; // now; otherwise it may be, later
};
void follow_mapping(backend::TableNumber root, const UserMapping& mapping);
// Of a range that the current process has no more, or the user process of this host process.
void forget_user_calls(std::uint64_t address, std::uint64_t bytes);
void forget_user_calls(unsigned host, std::uint64_t address, std::uint64_t bytes);

// The guest's kernel writes to RAM, by the map of all of it. True: it could not, and now can.
bool let_kernel_write(std::uint64_t address);
// Those that the kernel may not write to: a copy is executed in their place.
void for_each_executed_frame(void (*action)(std::uint64_t frame));

// Where the guest is, when the processor is in a stub.
std::uint64_t address_seen(std::uint64_t address);
// Where the processor has to be, when the guest is to be there.
std::uint64_t address_executed(std::uint64_t address);
// Whether the `syscall` there has become a jump.
bool is_user_call(std::uint64_t address);

// A stub was reached before it was made, or what follows a site: true, if that is what the fault is.
bool resolve_user_call(std::uint64_t address);

} // namespace previrt::process
