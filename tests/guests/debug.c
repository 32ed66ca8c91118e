/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Debug registers. DR0 to DR3 hold addresses; DR7 bit 10 and some of DR6 always read one. An instruction
 * breakpoint is a fault, which RF in the flags that IRET loads lets by once; a data breakpoint is a trap
 * behind the access. DR6 tells which, and nothing clears it but the kernel. Breakpoints count in user mode as
 * well.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/registers.h"
#include "harness/user.h"

enum {
    always_one6 = 0xff0,
    always_one7 = 0x400,
    on_write = 1,
    on_access = 3,
    single_step = 1 << 14,
};

static volatile uint64_t watched[2];

/* Breakpoint `number` with local enable. */
static uint64_t control(unsigned number, uint64_t condition, uint64_t bytes) {
    return always_one7 | UINT64_C(1) << 2 * number | condition << (16 + 4 * number) |
           (bytes == 8 ? 2 : bytes - 1) << (18 + 4 * number);
}

static void check_registers(void) {
    write_dr0(0x1111);
    write_dr1(0xffffffff81002222);
    write_dr2(0x3333);
    write_dr3(0x4444);
    check_equal("DR0", read_dr0(), 0x1111);
    check_equal("DR1", read_dr1(), 0xffffffff81002222);
    check_equal("DR2", read_dr2(), 0x3333);
    check_equal("DR3", read_dr3(), 0x4444);
    write_dr7(always_one7);
    check_equal("DR7 at rest", read_dr7(), always_one7);
    write_dr7(0);
    check_equal("DR7: bit 10 is always one", read_dr7(), always_one7);
    write_dr6(0);
    check_equal("DR6: bits 4 to 11 are always one", read_dr6() & 0xfff, always_one6);
}

static void check_data(void) {
    write_dr6(0);
    write_dr0((uintptr_t)&watched[0]);
    write_dr7(control(0, on_write, 8));
    struct exception exception = exception_of("movq $1, (%[where])", [where] "r"(watched) : "memory");
    check_exception("a store to it", &exception, vector_debug, 0, behind_instruction);
    check_equal("it has stored", watched[0], 1);
    check_equal("DR6 names it", read_dr6() & 0xf, 1);
    exception = exception_of("mov (%[where]), %%rax", [where] "r"(watched) : "rax", "memory");
    check_exception("a load from it", &exception, no_exception, 0, at_instruction);
    exception = exception_of("movq $1, 8(%[where])", [where] "r"(watched) : "memory");
    check_exception("a store beside it", &exception, no_exception, 0, at_instruction);
    check_equal("DR6 stays", read_dr6() & 0xf, 1);
    write_dr6(0);
    write_dr3((uintptr_t)&watched[1] + 4);
    write_dr7(control(3, on_access, 4));
    exception = exception_of("movb 6(%[where]), %%al", [where] "r"(&watched[1]) : "rax", "memory");
    check_exception("a load of one of its bytes", &exception, vector_debug, 0, behind_instruction);
    check_equal("DR6 names it", read_dr6() & 0xf, 8);
    exception = exception_of("movb 3(%[where]), %%al", [where] "r"(&watched[1]) : "rax", "memory");
    check_exception("a load of the byte below", &exception, no_exception, 0, at_instruction);
    write_dr7(0);
    exception = exception_of("movq $1, (%[where])", [where] "r"(watched) : "memory");
    check_exception("disabled", &exception, no_exception, 0, at_instruction);
}

static unsigned hits;
static uint64_t hit_rip;
static uint64_t hit_status;

static void let_by(struct frame* frame) {
    ++hits;
    hit_rip = frame->rip;
    hit_status = read_dr6();
    write_dr6(0);
    frame->rflags |= flag_resume;
}

extern const char breakpoint_here[];
uint64_t increment(uint64_t value);
asm("increment:\n"
    "	mov %rdi, %rax\n"
    "breakpoint_here: inc %rax\n"
    "	ret\n");

static void check_instruction(void) {
    write_dr6(0);
    write_dr1((uintptr_t)breakpoint_here);
    write_dr7(control(1, 0, 1));
    handlers[vector_debug] = let_by;
    const uint64_t result = increment(41);
    check_equal("an instruction breakpoint, let by: the result", result, 42);
    check_equal("hits", hits, 1);
    check_equal("RIP is at it", hit_rip, (uintptr_t)breakpoint_here);
    check_equal("DR6 names it", hit_status & 0xf, 2);
    increment(1);
    check_equal("the second time: hits", hits, 2);
    write_dr7(0);
    increment(1);
    check_equal("disabled: hits", hits, 2);
    handlers[vector_debug] = 0;
}

extern const char user_store[], user_stored[];
asm(".pushsection .user, \"aw\"\n"
    "user_store: movb $1, (%rdi)\n"
    "user_stored: nop\n"
    "	plain int $0x80\n"
    ".popsection");

static void check_user(void) {
    prepare_user();
    write_dr6(0);
    write_dr2(user_stack_top - 64);
    write_dr7(control(2, on_write, 1));
    struct exception exception = run_user(user_store, user_stack_top - 64);
    check_user_exception("user: a store", &exception, vector_debug, 0, user_stored);
    check_equal("DR6 names it", read_dr6() & 0xf, 4);
    write_dr7(0);
    write_dr6(0);
    struct user_start start = start_of(user_store, user_stack_top - 64);
    start.rflags |= flag_trap;
    exception = run_user_from(&start);
    check_user_exception("user: a single step", &exception, vector_debug, 0, user_stored);
    check_equal("DR6 says so", read_dr6() & (single_step | 0xf), single_step);
}

void guest(void) {
    load_descriptor_tables();
    check_registers();
    check_data();
    check_instruction();
    check_user();
}
