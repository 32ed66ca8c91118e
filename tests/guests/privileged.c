/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 31
 *
 * Instructions that are #GP(0) in user mode, however user mode came by them, and some that are not.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/registers.h"
#include "harness/user.h"

enum { slot = 16 };

/* One instruction in each slot of 16 bytes, in the order of the names. */
extern const char privileged_instructions[], allowed[], allowed_done[];
asm(".macro privileged instructions:vararg\n"
    ".balign 16, 0xcc\n"
    "	plain \\instructions\n"
    ".endm\n"
    ".pushsection .user, \"aw\"\n"
    ".balign 16\n"
    "privileged_instructions:\n"
    "privileged cli\n"
    "privileged sti\n"
    "privileged hlt\n"
    "privileged in $0x21, %al\n"
    "privileged in (%dx), %eax\n"
    "privileged out %al, $0x80\n"
    "privileged insb\n"
    "privileged outsb\n"
    "privileged mov %cr0, %rax\n"
    "privileged mov %rax, %cr0\n"
    "privileged mov %cr3, %rax\n"
    "privileged mov %rax, %cr3\n"
    "privileged mov %cr4, %rax\n"
    "privileged mov %cr8, %rax\n"
    "privileged mov %dr0, %rax\n"
    "privileged mov %rax, %dr7\n"
    "privileged clts\n"
    "privileged lmsw %ax\n"
    "privileged rdmsr\n"
    "privileged wrmsr\n"
    "privileged lgdt (%rsp)\n"
    "privileged lidt (%rsp)\n"
    "privileged lldt %ax\n"
    "privileged ltr %ax\n"
    "privileged invlpg (%rsp)\n"
    "privileged wbinvd\n"
    "privileged invd\n"
    "privileged swapgs\n"
    "privileged sysretq\n"
    ".balign 16, 0xcc\n"
    "allowed: plain cpuid\n"
    "	plain rdtsc\n"
    "	plain pushfq\n"
    "	plain popfq\n"
    "	plain mov %cs, %eax\n"
    "	plain int $0x80\n"
    "allowed_done:\n"
    ".popsection");

static const char* const names[] = {
    "cli",          "sti",          "hlt",          "in, immediate", "in, DX",       "out",
    "insb",         "outsb",        "mov from CR0", "mov to CR0",    "mov from CR3", "mov to CR3",
    "mov from CR4", "mov from CR8", "mov from DR0", "mov to DR7",    "clts",         "lmsw",
    "rdmsr",        "wrmsr",        "lgdt",         "lidt",          "lldt",         "ltr",
    "invlpg",       "wbinvd",       "invd",         "swapgs",        "sysret"};

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    write_msr(msr_efer, read_msr(msr_efer) | efer_syscall_enable);
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; ++i) {
        const char* const place = privileged_instructions + (uintptr_t)slot * i;
        const struct exception exception = run_user(place, 0);
        check_user_exception(names[i], &exception, vector_protection, 0, place);
    }
    const struct exception exception = run_user(allowed, 0);
    check_user_exception("cpuid, rdtsc, pushf, popf, mov from CS", &exception, user_exit, 0, allowed_done);
    check_equal("CS", exception.frame.rax, user_code);
}
