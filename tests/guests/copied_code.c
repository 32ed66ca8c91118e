/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 23
 *
 * Code with sensitive instructions that a kernel copies, as Linux does for ftrace and kprobes, does in the copy what
 * it does in the original, once the copy is announced. It may be copied over another, and a copy that is
 * forgotten is plain memory. A kernel that reads its code, to understand it, finds its own instructions. It
 * may adjust a copied instruction to its place.
 */
#include <previrt/annotate.h>

#include "harness/check.h"
#include "harness/console.h"
#include "harness/descriptors.h"
#include "harness/registers.h"

/* The results of the code, which assembly writes. */
struct seen {
    uint64_t before, off, on, after, cr3, returned;
};

void sensitive(struct seen* seen);
extern const uint8_t sensitive_end[];
/* Each is one instruction and a RET. */
extern const uint8_t one_cli[], one_sti[], one_pushf[], one_sgdt[], one_end[];

asm(".text\n"
    "sensitive:\n"
    "pushfq\n popq (%rdi)\n"
    "cli\n"
    "pushfq\n popq 8(%rdi)\n"
    "sti\n"
    "pushfq\n popq 16(%rdi)\n"
    "pushq $0x46\n popfq\n"
    "pushfq\n popq 24(%rdi)\n"
    "movq %cr3, %rax\n"
    "movq %rax, 32(%rdi)\n"
    "movq %rsp, %rdx\n"
    "movl %ss, %eax\n pushq %rax\n pushq %rdx\n pushq $0x2\n"
    "movl %cs, %eax\n pushq %rax\n"
    "leaq 1f(%rip), %rax\n pushq %rax\n"
    "iretq\n"
    "1: movq $1, 40(%rdi)\n"
    "ret\n"
    "sensitive_end:\n"
    "one_cli: cli\n ret\n"
    "one_sti: sti\n ret\n"
    "one_pushf: pushfq\n ret\n"
    "one_sgdt: sgdt table(%rip)\n ret\n"
    "one_end:\n");

static uint8_t copy[512];
uint8_t table[16];

static uint64_t copy_code(const uint8_t* code, const uint8_t* end) {
    for (uint64_t i = 0; code + i != end; ++i) {
        copy[i] = code[i];
    }
    return (uint64_t)(end - code);
}

static uint64_t announce(const uint8_t* code, const uint8_t* end) {
    return previrt_copy_sites(copy, code, copy_code(code, end));
}

static void check_sensitive(void (*code)(struct seen* seen)) {
    struct seen seen = {0};
    enable_interrupts();
    code(&seen);
    check_equal("pushf", seen.before & flag_interrupt, flag_interrupt);
    check_equal("cli", seen.off & flag_interrupt, 0);
    check_equal("sti", seen.on & flag_interrupt, flag_interrupt);
    check_equal("popf", seen.after, flag_parity | flag_zero | flag_always_one);
    check("mov from CR3", seen.cr3 == read_cr3());
    check_equal("iretq", seen.returned, 1);
}

static void run_copy(void) {
    asm volatile("call *%[at]" : : [at] "r"(copy) : "memory", "cc");
}

/* The site's last byte is the opcode, and prefixes are in front of it. */
static void check_read(const char* what, const uint8_t* code, const uint8_t* end, uint8_t opcode) {
    const uint64_t bytes = copy_code(code, end) - 1; /* without the RET */
    previrt_read_sites(copy, code, bytes);
    bool good = copy[bytes - 1] == opcode;
    for (uint64_t i = 0; i + 1 < bytes; ++i) {
        good = good && copy[i] == 0x2e;
    }
    check(what, good);
}

/* As kprobes copies an instruction with an operand relative to RIP: read, adjusted, announced. */
static void check_adjusted(void) {
    const uint64_t bytes = copy_code(one_sgdt, one_end);
    previrt_read_sites(copy, one_sgdt, bytes - 1);
    int32_t* const distance = (int32_t*)(copy + bytes - 5);
    *distance += (int32_t)(one_sgdt - copy);
    check_equal("an adjusted instruction is taken", previrt_copy_sites(copy, one_sgdt, bytes - 1), 0);
    struct __attribute__((packed)) {
        uint16_t limit;
        uint64_t base;
    } expected = {0};
    asm volatile("sgdt %[table]" : [table] "=m"(expected));
    run_copy();
    check("and does the same", *(uint16_t*)table == expected.limit && *(uint64_t*)(table + 2) == expected.base);
}

void guest(void) {
    load_descriptor_tables();
    check_equal("a copy is taken", announce((const uint8_t*)sensitive, sensitive_end), 0);
    check_sensitive((void (*)(struct seen*))copy);
    check_read("cli is read", one_cli, one_sti, 0xfa);
    check_read("sti is read", one_sti, one_pushf, 0xfb);
    check_read("pushf is read", one_pushf, one_sgdt, 0x9c);
    check_adjusted();
    check_equal("a copy over another", announce(one_cli, one_sti), 0);
    enable_interrupts();
    run_copy();
    check_equal("does its own", read_flags() & flag_interrupt, 0);
    check_equal("an instruction alone", announce(one_sti, one_pushf), 0);
    run_copy();
    check_equal("does its own", read_flags() & flag_interrupt, flag_interrupt);
    disable_interrupts();
    previrt_forget_sites(copy, sizeof copy);
    for (uint64_t i = 0; i < 100; ++i) {
        copy[i] = 0x90;
    }
    copy[100] = 0xc3;
    run_copy();
    check("forgotten, it is plain memory", !(read_flags() & flag_interrupt));
    print("the original\n");
    check_sensitive(sensitive);
}
