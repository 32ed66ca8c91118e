/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 75
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
    write_dr3(UINT64_C(0x7c5f8640acd4d44a));
    check_equal("DR3 takes any value", read_dr3(), UINT64_C(0x7c5f8640acd4d44a));
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

/* Each with the address of user_cell in RDI. The #DB of a hit comes behind the first instruction that is
 * watched for. */
extern char user_cell[];
asm(".macro watched name:req, first:vararg\n"
    "user_\\name:\n"
    "	\\first\n"
    "user_\\name\\()_done:\n"
    "	nop\n"
    "	plain int $0x80\n"
    ".endm\n"
    ".pushsection .user, \"aw\"\n"
    "watched store, movb $1, (%rdi)\n"
    "watched store_again, movb $1, (%rdi)\n"
    "watched load, movzbl (%rdi), %eax\n"
    "watched relative, mov user_cell(%rip), %eax\n"
    "watched change, addl $0, (%rdi)\n"
    "watched below, movq $1, -8(%rdi)\n"
    "watched across, movq $1, -4(%rdi)\n"
    "watched above, movq $1, 8(%rdi)\n"
    "user_bit: mov $64, %eax\n"
    "	btsq %rax, -8(%rdi)\n"
    "user_bit_done:\n"
    "	nop\n"
    "	plain int $0x80\n"
    "watched exchange, xchg %eax, (%rdi)\n"
    "watched immediate, cmpl $0x12345678, (%rdi)\n"
    "watched lea, lea (%rdi), %rax\n"
    "watched string_store, stosb\n"
    "user_string_load: mov %rdi, %rsi\n"
    "	lea 16(%rdi), %rdi\n"
    "	movsb\n"
    "user_string_load_done:\n"
    "	nop\n"
    "	plain int $0x80\n"
    "watched push, push %rax\n"
    "watched pop, pop %rax\n"
    "watched nothing, nop\n"
    "user_flags: plain pushfq\n"
    "	pop %rax\n"
    "	plain int $0x80\n"
    "user_flags_done:\n"
    ".code32\n"
    "watched store_32, movb $2, %ss:(%edi)\n"
    ".code64\n"
    ".balign 64\n"
    "	.quad 0, 0\n"
    "user_cell: .quad 0, 0, 0\n"
    ".popsection");

#define CASE(name, what, condition, bytes, hit) {what, user_##name, user_##name##_done, condition, bytes, hit}
#define CODE(name) extern const char user_##name[], user_##name##_done[]
CODE(store);
CODE(store_again);
CODE(load);
CODE(relative);
CODE(change);
CODE(below);
CODE(across);
CODE(above);
CODE(bit);
CODE(exchange);
CODE(immediate);
CODE(lea);
CODE(string_store);
CODE(string_load);
CODE(push);
CODE(pop);
CODE(nothing);
CODE(store_32);
extern const char user_flags[], user_flags_done[];

static const struct watch {
    const char* what;
    const char* code;
    const char* done;
    unsigned condition;
    unsigned bytes;
    bool hits;
} watches[] = {
    CASE(store, "user: a store", on_write, 1, true),
    CASE(store_again, "user: a store of the same value", on_write, 8, true),
    CASE(load, "user: a load, of stores", on_write, 4, false),
    CASE(load, "user: a load", on_access, 4, true),
    CASE(relative, "user: a load relative to RIP", on_access, 1, true),
    CASE(change, "user: an addition", on_write, 4, true),
    CASE(below, "user: a store below", on_access, 8, false),
    CASE(across, "user: a store that reaches into it", on_write, 4, true),
    CASE(above, "user: a store above", on_access, 8, false),
    CASE(bit, "user: a bit that is set from below", on_write, 8, true),
    CASE(exchange, "user: an exchange", on_write, 4, true),
    CASE(immediate, "user: a comparison, of stores", on_write, 4, false),
    CASE(immediate, "user: a comparison", on_access, 4, true),
    CASE(lea, "user: an address", on_access, 4, false),
    CASE(string_store, "user: a string's store", on_write, 1, true),
    CASE(string_load, "user: a string's load", on_access, 1, true),
    CASE(push, "user: a push", on_write, 8, true),
    CASE(pop, "user: a pop", on_access, 8, true),
    CASE(nothing, "user: no access", on_access, 8, false),
    CASE(store_32, "user: a store of 32-bit code", on_write, 1, true),
};

static struct user_start start_watched(const struct watch* watch) {
    const uint64_t cell = user_address(user_cell);
    struct user_start start = start_of(watch->code, cell);
    if (watch->code == user_push) {
        start.rsp = cell + 8;
    } else if (watch->code == user_pop) {
        start.rsp = cell;
    } else if (watch->code == user_store_32) {
        start.cs = user_code32;
    }
    return start;
}

static void check_watch(const struct watch* watch) {
    const struct user_start start = start_watched(watch);
    write_dr6(0);
    write_dr2(user_address(user_cell));
    write_dr7(control(2, watch->condition, watch->bytes));
    const struct exception exception = run_user_from(&start);
    write_dr7(0);
    if (watch->hits) {
        check_user_exception(watch->what, &exception, vector_debug, 0, watch->done);
        check_equal("user: DR6 names it", read_dr6() & (single_step | 0xf), 4);
    } else {
        check_user_exception(watch->what, &exception, user_exit, 0, watch->done + 3);
        check_equal("user: DR6 stays", read_dr6() & (single_step | 0xf), 0);
    }
}

static void check_user_instruction(void) {
    struct user_start start = start_of(user_lea, user_address(user_cell));
    write_dr6(0);
    write_dr1(user_address(user_lea_done));
    write_dr7(control(1, 0, 1));
    struct exception exception = run_user_from(&start);
    check_user_exception("user: an instruction breakpoint", &exception, vector_debug, 0, user_lea_done);
    check_equal("user: DR6 names it", read_dr6() & (single_step | 0xf), 2);
    start.rip = exception.frame.rip;
    start.rflags |= flag_resume;
    exception = run_user_from(&start);
    check_user_exception("user: let by", &exception, user_exit, 0, user_lea_done + 3);
    write_dr7(0);
    write_dr1(0); /* or a processor may name it in DR6 though it is disabled */
}

static void check_user_flags(void) {
    write_dr2(user_address(user_cell));
    write_dr7(control(2, on_access, 8));
    const struct exception exception = run_user(user_flags, 0);
    write_dr7(0);
    check_user_exception("user: pushf, while a breakpoint is enabled", &exception, user_exit, 0,
                         user_flags_done);
    check_equal("it has pushed", exception.frame.rax, flag_always_one | flag_interrupt);
    check_equal("RFLAGS", exception.frame.rflags, flag_always_one | flag_interrupt);
}

static void check_user_steps(void) {
    struct user_start start = start_of(user_store, user_address(user_cell));
    start.rflags |= flag_trap;
    write_dr6(0);
    struct exception exception = run_user_from(&start);
    check_user_exception("user: a single step", &exception, vector_debug, 0, user_store_done);
    check_equal("user: DR6 says so", read_dr6() & (single_step | 0xf), single_step);
    write_dr6(0);
    write_dr2(user_address(user_cell));
    write_dr7(control(2, on_write, 1));
    start.rip = user_address(user_lea);
    exception = run_user_from(&start);
    write_dr7(0);
    check_user_exception("user: a single step, while a breakpoint is enabled", &exception, vector_debug, 0,
                         user_lea_done);
    check_equal("user: DR6 says so", read_dr6() & (single_step | 0xf), single_step);
    check_equal("TF is set", exception.frame.rflags & flag_trap, flag_trap);
}

static void check_user(void) {
    prepare_user();
    for (unsigned i = 0; i < sizeof watches / sizeof watches[0]; ++i) {
        check_watch(&watches[i]);
    }
    check_user_instruction();
    check_user_flags();
    check_user_steps();
}

void guest(void) {
    load_descriptor_tables();
    check_registers();
    check_data();
    check_instruction();
    check_user();
}
