/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 68
 *
 * A sensitive instruction changes the registers that it names and no other, and leaves the arithmetic flags,
 * DF and RSP alone where it is not about them. Each is run with a pattern in every register and in the flags.
 */
#include "harness/check.h"
#include "harness/console.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/registers.h"

#include <previrt/annotate.h>

enum { rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15, flags, rsp, register_count };

#define CHANGES(number) (1U << (number))

/* In the order of the enumeration, for the assembly below. */
uint64_t registers_before[register_count], registers_after[register_count];
const void* instruction_under_test;

/* Calls the instruction with all registers loaded. */
void run_with_registers(void);
asm("run_with_registers:\n"
    "	push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "	mov %rsp, registers_before + 8 * 16\n"
    "	.set offset, 0\n"
    "	.irp register, rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15\n"
    "	mov registers_before + offset, %\\register\n"
    "	.set offset, offset + 8\n"
    "	.endr\n"
    "	pushq registers_before + 8 * 15\n"
    "	popfq\n"
    "	call *instruction_under_test\n"
    "	.set offset, 0\n"
    "	.irp register, rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15\n"
    "	mov %\\register, registers_after + offset\n"
    "	.set offset, offset + 8\n"
    "	.endr\n"
    "	mov %rsp, registers_after + 8 * 16\n"
    "	pushfq\n"
    "	popq registers_after + 8 * 15\n"
    "	pushq $2\n"
    "	popfq\n"
    "	mov registers_before + 8 * 16, %rsp\n"
    "	pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
    "	ret\n");

static uint8_t scratch[4096] __attribute__((aligned(4096)));
static struct table_pointer gdt_pointer, idt_pointer;
static uint64_t not_live[1]; /* no CR3 leads to it */

static const char* const names[] = {"rax", "rcx", "rdx", "rbx", "rbp", "rsi", "rdi",   "r8", "r9",
                                    "r10", "r11", "r12", "r13", "r14", "r15", "flags", "rsp"};

static void fill_registers(void) {
    for (uint64_t i = 0; i < register_count; ++i) {
        registers_before[i] = 0x0101010101010101 * (i + 1);
    }
    registers_before[flags] = flag_always_one | flag_carry | flag_sign | flag_overflow | flag_auxiliary;
}

static void run(const char* what, unsigned changed) {
    bool good = true;
    run_with_registers();
    for (unsigned i = 0; i < register_count; ++i) {
        if (registers_before[i] != registers_after[i] && !(changed & CHANGES(i))) {
            print("FAIL: %s changed %s from 0x%lx to 0x%lx\n", what, names[i], registers_before[i],
                  registers_after[i]);
            good = false;
        }
    }
    if (good) {
        print("ok: %s\n", what);
    }
    fill_registers();
}

/* `given` sets registers_before. */
#define RUN(instruction, changed, given)                                                                     \
    do {                                                                                                     \
        asm volatile("jmp 2f\n1: " instruction "\n ret\n2: movq $1b, instruction_under_test");               \
        given;                                                                                               \
        run(instruction, changed);                                                                           \
    } while (0)
#define SET(number, value) registers_before[number] = (uint64_t)(value)

static void check_flags(void) {
    RUN("cli", 0, );
    RUN("sti; nop", CHANGES(flags), );
    check_equal("sti changed IF alone", registers_after[flags] ^ flag_interrupt,
                flag_always_one | flag_carry | flag_sign | flag_overflow | flag_auxiliary);
    RUN("pushfq; popfq", 0, );
    RUN("pushfq; pop %rax", CHANGES(rax), );
    RUN("push %rbx; popfq", CHANGES(flags), SET(rbx, flag_always_one | flag_zero));
    check_equal("popf changed the flags", registers_after[flags], flag_always_one | flag_zero);
    RUN("int $0x90", 0, );
    RUN("pushq $0x10; pushq $3f; lretq; 3:", 0, );
    RUN("mov %rsp, %rax; pushq $0x18; push %rax; pushfq; pushq $0x10; pushq $3f; iretq; 3:", CHANGES(rax), );
}

static void check_ports(void) {
    RUN("inb %dx, %al", CHANGES(rax), SET(rdx, 0x3ff));
    check_equal("inb changed AL alone", registers_after[rax] >> 8, 0x0101010101010101 >> 8);
    RUN("outb %al, %dx", 0, SET(rdx, 0x3ff));
    RUN("inb $0x21, %al", CHANGES(rax), );
    RUN("outb %al, $0x80", 0, );
    RUN("insb", CHANGES(rdi), (SET(rdx, 0x3ff), SET(rdi, scratch)));
    check_equal("insb moved RDI", registers_after[rdi], (uintptr_t)scratch + 1);
    RUN("outsb", CHANGES(rsi), (SET(rdx, 0x3ff), SET(rsi, scratch)));
    RUN("rep; outsb", CHANGES(rsi) | CHANGES(rcx), (SET(rdx, 0x3ff), SET(rsi, scratch), SET(rcx, 5)));
    RUN("rep outsb", CHANGES(rsi) | CHANGES(rcx), (SET(rdx, 0x3ff), SET(rsi, scratch), SET(rcx, 3)));
    check_equal("rep outsb counted", registers_after[rcx], 0);
}

static void check_system_registers(void) {
    RUN("mov %cr0, %rax", CHANGES(rax), );
    RUN("mov %cr0, %r15", CHANGES(r15), );
    RUN("mov %r14, %cr0", 0, SET(r14, read_cr0()));
    RUN("mov %cr2, %rdi", CHANGES(rdi), );
    RUN("mov %rbp, %cr2", 0, );
    RUN("mov %cr3, %rbx", CHANGES(rbx), );
    RUN("mov %rbx, %cr3", 0, SET(rbx, read_cr3()));
    RUN("mov %cr4, %rcx", CHANGES(rcx), );
    RUN("mov %r9, %cr4", 0, SET(r9, read_cr4()));
    RUN("mov %dr7, %rsi", CHANGES(rsi), );
    RUN("mov %rax, %dr0", 0, SET(rax, 0));
    RUN("clts", 0, );
    RUN("smsw %ebx", CHANGES(rbx), );
    RUN("rdmsr", CHANGES(rax) | CHANGES(rdx), SET(rcx, msr_efer));
    RUN("wrmsr", 0, (SET(rcx, msr_kernel_gs_base), SET(rax, 0), SET(rdx, 0)));
    RUN("cpuid", CHANGES(rax) | CHANGES(rbx) | CHANGES(rcx) | CHANGES(rdx), (SET(rax, 0), SET(rcx, 0)));
    RUN("rdtsc", CHANGES(rax) | CHANGES(rdx), );
    RUN("invlpg (%rax)", 0, SET(rax, scratch));
    RUN("wbinvd", 0, );
    RUN("swapgs; swapgs", 0, );
}

static void check_segments(void) {
    RUN("mov %ds, %eax", CHANGES(rax), );
    RUN("mov %cs, (%rbx)", 0, SET(rbx, scratch));
    RUN("mov %eax, %es", 0, SET(rax, kernel_data));
    RUN("mov %ecx, %ss; nop", 0, SET(rcx, kernel_data));
    RUN("mov (%rcx), %ds", 0, (SET(rcx, scratch), scratch[0] = kernel_data, scratch[1] = 0));
    RUN("push %fs; pop %fs", 0, );
    RUN("push %gs; pop %rdx", CHANGES(rdx), );
    RUN("lgdt (%rdi)", 0, SET(rdi, &gdt_pointer));
    RUN("lidt (%rsi)", 0, SET(rsi, &idt_pointer));
    RUN("sgdt (%rax)", 0, SET(rax, scratch));
    RUN("sidt (%rax)", 0, SET(rax, scratch));
    RUN("sldt %eax", CHANGES(rax), );
    RUN("str %r8d", CHANGES(r8), );
    RUN("lldt %dx", 0, SET(rdx, 0));
    RUN("lar %ecx, %edx", CHANGES(rdx) | CHANGES(flags), SET(rcx, kernel_data));
    check_equal("lar changed ZF alone", registers_after[flags] ^ flag_zero, registers_before[flags]);
    RUN("lsl %ecx, %edx", CHANGES(rdx) | CHANGES(flags), SET(rcx, kernel_data));
    RUN("verw %cx", CHANGES(flags), SET(rcx, kernel_data));
}

static void check_page_tables(void) {
    RUN("previrt_site page_table_write, 8, 1, movq %rax, (%rbx)", 0, (SET(rbx, not_live), SET(rax, 0x60)));
    RUN("previrt_site page_table_exchange, 8, 1, xchgq %rcx, (%rdi)", CHANGES(rcx),
        (SET(rdi, not_live), SET(rcx, 0x20)));
    check_equal("exchange gave the old entry", registers_after[rcx], 0x60);
    RUN("previrt_site page_table_compare_exchange, 8, 1, lock cmpxchgq %rdx, (%rsi)", CHANGES(flags),
        (SET(rsi, not_live), SET(rax, 0x20), SET(rdx, 0x40)));
    check_equal("compare-exchange set ZF", registers_after[flags] & flag_zero, flag_zero);
    RUN("previrt_site page_table_test_and_clear_bit, 8, 1, lock btrq $6, (%r9)", CHANGES(flags),
        SET(r9, not_live));
    check_equal("test-and-clear set CF", registers_after[flags] & flag_carry, flag_carry);
    RUN("previrt_site page_table_clear_bit, 8, 1, lock btrq $6, (%rax)", CHANGES(flags), SET(rax, not_live));
    check_equal("clear changed the entry", not_live[0], 0);
}

static void ignore(struct frame* frame) {
    (void)frame;
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    gdt_pointer = (struct table_pointer){sizeof gdt - 1, (uintptr_t)gdt};
    idt_pointer = (struct table_pointer){sizeof idt - 1, (uintptr_t)idt};
    handlers[0x90] = ignore;
    fill_registers();
    check_flags();
    check_ports();
    check_system_registers();
    check_segments();
    check_page_tables();
}
