// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>

// System calls of user mode that do not pass through KVM, whose SYSCALL takes longer than the rest of a call.
// The VMM replaces
//
//     0f 05            syscall          by     ff 24 e5 SLOT    jmp *SLOT
//     48 3d IMM32      cmp $IMM, %rax
//
// in a copy of the page, which the program executes in place of the guest's page (shadow/replacements.hpp).
// The instructions behind the system call may be others (displaced_instructions.hpp). SLOT holds the address
// of a stub: it enters the VMM as `syscall` would, and then executes these instructions. The stub reads the
// address of its site in the current root. Wherever the processor is, the guest sees the address of its own
// instruction. A jump to an instruction behind the system call meets `e5` or a byte of SLOT, which faults,
// and continues in the stub.
namespace previrt::kvm {

void start_user_calls();

// True: user mode jumped to this instruction, which a rewritten system call covers.
bool resolve_user_call(std::uint64_t address);

// The instruction before `next` was a system call. Examines some of these.
void note_user_call(std::uint64_t next);
void follow_user_call_root(backend::TableNumber table);

} // namespace previrt::kvm
