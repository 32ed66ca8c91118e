/* SPDX-License-Identifier: BSD-2-Clause */
#include "system_calls.h"

#include "descriptors.h"
#include "registers.h"

asm("increment_entry:\n"
    "	lea 1(%rdi), %rax\n"
    "	sysretq\n"
    ".globl increment_entry");

void enable_system_calls(const char* entry) {
    write_msr(msr_efer, read_msr(msr_efer) | efer_syscall_enable);
    write_msr(msr_star, (uint64_t)user_code32 << 48 | (uint64_t)kernel_code << 32);
    write_msr(msr_lstar, (uintptr_t)entry);
    write_msr(msr_sfmask, arithmetic_flags | flag_trap | flag_interrupt | flag_direction | flag_iopl |
                              flag_nested_task | flag_resume | flag_alignment_check | flag_identification);
}
