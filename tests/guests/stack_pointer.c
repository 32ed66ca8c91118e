/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 8
 *
 * An instruction uses the stack only if the manual says so. Linux executes SWAPGS, VERW and moves between CR3
 * and RSP while RSP is a program's or no address at all.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/registers.h"

/* Addressed by the assembly below. */
uint64_t kept_stack;
uint16_t selector;

/* Executes instructions with this RSP; they may leave another. */
#define WITH_STACK(stack, instructions, ...)                                                                 \
    asm volatile("mov %%rsp, kept_stack\n"                                                                   \
                 "mov %[value], %%rsp\n" instructions "\n"                                                   \
                 "mov kept_stack, %%rsp\n" __VA_ARGS__                                                       \
                 : [zero] "=&r"(zero), [read] "=&r"(read)                                                    \
                 : [value] "r"((uint64_t)(stack))                                                            \
                 : "memory", "cc")

static void check_with(const char* what_verifies, const char* what_exchanges, uint64_t stack) {
    uint64_t zero = 0;
    uint64_t read = 0;
    selector = kernel_data;
    WITH_STACK(stack, "xor %k[zero], %k[zero]\n mov %%rsp, %[read]\n verw selector\n setz %b[zero]");
    const bool accepts = zero == 1 && read == stack;
    selector = kernel_code;
    WITH_STACK(stack,
               "xor %k[zero], %k[zero]\n inc %k[zero]\n verw selector\n setz %b[zero]\n mov %%rsp, %[read]");
    check(what_verifies, accepts && zero == 0 && read == stack);
    write_msr(msr_kernel_gs_base, 0x1000);
    WITH_STACK(stack, "mov $1, %k[zero]\n swapgs\n swapgs\n mov %%rsp, %[read]");
    check(what_exchanges, read == stack && read_msr(msr_kernel_gs_base) == 0x1000);
}

static void check_root(void) {
    const uint64_t root = read_cr3();
    uint64_t zero = 0;
    uint64_t read = 0;
    WITH_STACK(0, "mov $0, %k[zero]\n mov %%cr3, %%rsp\n mov %%rsp, %[read]");
    check_equal("mov %cr3, %rsp", read, root);
    WITH_STACK(root, "mov $0, %k[zero]\n mov %%rsp, %%cr3\n mov %%rsp, %[read]");
    check("mov %rsp, %cr3 leaves RSP", read == root);
    check_equal("and loads CR3", read_cr3(), root);
}

void guest(void) {
    load_descriptor_tables();
    check_with("RSP 0: verw", "RSP 0: swapgs", 0);
    check_with("RSP beyond all addresses: verw", "RSP beyond all addresses: swapgs",
               UINT64_C(0x8000000000000000));
    check_root();
    check("interrupts stayed off", !(read_flags() & flag_interrupt));
}
