/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 16
 *
 * More sites than a kernel is likely to have: 40,000 of one kind, and 300 IRETs, each of which a VMM has to
 * tell from the others without a return address. And
 * sites in a section of alternatives, which a kernel copies: what replaces them has to mean the same
 * elsewhere.
 */
#include "harness/check.h"
#include "harness/console.h"
#include "harness/descriptors.h"
#include "harness/registers.h"

enum { returns = 300 };

void disable_often(void);
uint64_t return_often(void);

asm(".text\n"
    "disable_often:\n"
    ".rept 40000\n"
    "cli\n"
    ".endr\n"
    "ret\n"
    "return_often:\n"
    "xorl %eax, %eax\n"
    "movl %cs, %esi\n"
    "movl %ss, %edi\n"
    ".rept 300\n"
    "movq %rsp, %rdx\n"
    "leaq 1f(%rip), %rcx\n"
    "pushq %rdi\n"
    "pushq %rdx\n"
    "pushq $0x8d7\n" /* arithmetic flags, and the one that is always set */
    "pushq %rsi\n"
    "pushq %rcx\n"
    "iretq\n"
    "1: adcq $0, %rax\n" /* its carry */
    ".endr\n"
    "ret\n");

/* What the sites of a section that is copied have done. Written by assembly. */
struct seen {
    uint64_t loaded, flags, short_flags, limit, rights, readable;
};

void copied_sites(uint64_t selector, struct seen* seen);
extern const uint8_t copied_sites_end[];

asm(".pushsection .altinstr_replacement, \"ax\"\n"
    "copied_sites:\n"
    "movl %edi, %fs\n"
    "movl %fs, %eax\n"
    "movq %rax, (%rsi)\n"
    "pushfq\n"
    "popq 8(%rsi)\n"
    "pushq $0x46\n"
    "popfq\n"
    "cli\n"
    "pushfw\n"
    "popw 16(%rsi)\n"
    "lsll %edi, %r10d\n"
    "movq %r10, 24(%rsi)\n"
    "lar %edi, %eax\n"
    "movq %rax, 32(%rsi)\n"
    "verr %di\n"
    "setz 40(%rsi)\n"
    "ret\n"
    "copied_sites_end:\n"
    ".popsection\n");

static uint8_t copy[512];

static void check_copied(const char* where, void (*code)(uint64_t selector, struct seen* seen)) {
    const uint16_t selector = read_ds();
    struct seen seen = {0};
    write_fs(0);
    code(selector, &seen);
    print("alternatives %s\n", where);
    check("mov to FS and back", seen.loaded == selector && read_fs() == selector);
    check_equal("pushfq", seen.flags & flag_interrupt, 0);
    check_equal("pushfw", seen.short_flags, flag_parity | flag_zero | flag_always_one);
    check_equal("lsl", seen.limit, 0xffffffff);
    check_equal("lar", seen.rights & 0xf0ff00, 0xc09300);
    check_equal("verr", seen.readable, 1);
}

void guest(void) {
    load_descriptor_tables();
    check("interrupts are off", !(read_flags() & flag_interrupt));
    disable_often();
    check("and still are, behind many cli", !(read_flags() & flag_interrupt));
    check_equal("iret with the carry flag set", return_often(), returns);
    const uint8_t* const code = (const uint8_t*)copied_sites;
    for (uint64_t i = 0; code + i != copied_sites_end && i < sizeof copy; ++i) {
        copy[i] = code[i];
    }
    check_copied("where they were assembled", copied_sites);
    check_copied("copied", (void (*)(uint64_t, struct seen*))copy);
    check("the flags are whole", !(read_flags() & (flag_interrupt | flag_trap)));
}
