// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>

// System calls of user mode that do not pass KVM, for which SYSCALL is longer than all else of one. A site
// that is followed by a comparison of the result, as C libraries have it,
//
//     0f 05            syscall          becomes     ff 24 e5 SLOT    jmp *SLOT
//     48 3d IMM32      cmp $IMM, %rax
//
// in a copy of its page, which is what is executed in place of the guest's (shadow_replacements.hpp). SLOT
// names a stub: it enters the VMM as `syscall` would, and has the comparison. Where the site is, in the
// current root, the stub reads. Wherever execution is, the guest sees the address of its own instruction.
// Whoever jumps behind the site meets `e5`, which faults, and goes on in the stub.
namespace previrt::kvm {

void start_user_calls();

// A system call came from the instruction before `next`. Some are looked at.
void note_user_call(std::uint64_t next);
void follow_user_call_root(backend::TableNumber table);

// Where the guest is, when the processor is in a stub.
std::uint64_t address_seen(std::uint64_t address);
// Where the processor has to be, when the guest is to be there.
std::uint64_t address_executed(std::uint64_t address);
// Whether the `syscall` there has become a jump.
bool is_user_call(std::uint64_t address);

} // namespace previrt::kvm
