/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 20
 *
 * Exceptions in handlers, and exceptions in the delivery of exceptions. The first are like any others. In
 * delivery, a fault after a benign exception is raised in its place; one of the contributory class (#DE, #TS,
 * #NP, #SS, #GP) after one of that class or after #PF makes a double fault, which pushes error code 0.
 *
 * Left out: what the frame of #DF says but its error code (the manual leaves it undefined), and EXT in other
 * error codes, which QEMU leaves clear.
 */
#include "harness/access.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"
#include "harness/user.h"

enum { depth = 5 };

static const uintptr_t absent = 0x50000000;
static unsigned level;
static uint64_t saved_cr2[depth];

/* #PF, whose handler maps the page, but not before it has touched the next. */
static void touch_next(struct frame* frame) {
    const unsigned mine = level;
    saved_cr2[mine] = read_cr2();
    if (++level < depth) {
        write_byte(absent + level * page_size, (uint8_t)level);
    }
    map_page(saved_cr2[mine], (uintptr_t)allocate_page(), page_present | page_writable);
    (void)frame;
}

static void check_handlers(void) {
    handlers[vector_page_fault] = touch_next;
    uint64_t before;
    uint64_t after;
    asm volatile("mov %%rsp, %[before]\n movb $9, (%[where])\n mov %%rsp, %[after]"
                 : [before] "=&r"(before), [after] "=&r"(after)
                 : [where] "r"(absent)
                 : "memory");
    handlers[vector_page_fault] = 0;
    check_equal("page faults within page faults", level, depth);
    check_equal("RSP behind them", after, before);
    check_equal("the store was repeated", read_byte(absent), 9);
    for (unsigned i = 1; i < depth; ++i) {
        check_equal("as was the store of a handler", read_byte(absent + i * page_size), i);
        check_equal("and CR2 was its address", saved_cr2[i], absent + i * page_size);
    }
}

/* The handler of #UD raises #GP, #BP and #DE before it skips the instruction. */
static unsigned inner_count;

static void count_inner(struct frame* frame) {
    enum { length_of_load = 2, length_of_div = 2 };
    ++inner_count;
    frame->rip += frame->vector == vector_protection ? length_of_load
                  : frame->vector == vector_divide   ? length_of_div
                                                     : 0;
}

static void raise_others(struct frame* frame) {
    enum { length_of_ud2 = 2 };
    asm volatile("mov (%%rax), %%ecx\n int3\n div %%ecx"
                 :
                 : "a"(UINT64_C(1) << 63), "c"(0), "d"(0)
                 : "memory", "cc");
    frame->rip += length_of_ud2;
}

static void check_mixed(void) {
    handlers[vector_invalid_opcode] = raise_others;
    handlers[vector_protection] = count_inner;
    handlers[vector_breakpoint] = count_inner;
    handlers[vector_divide] = count_inner;
    uint64_t value = 0x1234;
    asm volatile("ud2\n inc %[value]" : [value] "+r"(value) : : "memory", "cc");
    check_equal("three exceptions in a handler", inner_count, 3);
    check_equal("and execution goes on behind it", value, 0x1235);
    for (unsigned vector = 0; vector < 32; ++vector) {
        handlers[vector] = 0;
    }
}

static void remove_gate(unsigned vector) {
    idt[vector].type &= 0x7f;
}

static void restore_gate(unsigned vector) {
    idt[vector].type |= 0x80;
}

static void check_double_fault(const char* what, struct exception exception) {
    exception.place = elsewhere;
    check_exception(what, &exception, vector_double_fault, 0, elsewhere);
}

static void check_delivery(void) {
    const uint64_t not_canonical = UINT64_C(1) << 63;
    remove_gate(vector_invalid_opcode);
    struct exception exception = exception_of("ud2", : "memory");
    exception.frame.error_code &= 2;
    check_exception("#UD without a gate", &exception, vector_not_present, 2, at_instruction);
    restore_gate(vector_invalid_opcode);

    remove_gate(vector_protection);
    exception = exception_of("mov (%[where]), %%al", [where] "r"(not_canonical) : "rax", "memory");
    check_double_fault("#GP without a gate", exception);
    restore_gate(vector_protection);

    remove_gate(vector_page_fault);
    exception = load(absent - page_size);
    check_double_fault("#PF without a gate", exception);
    restore_gate(vector_page_fault);

    remove_gate(vector_divide);
    exception = exception_of("divl %[zero]", "a"(1), "d"(0), [zero] "r"(0) : "cc");
    check_double_fault("#DE without a gate", exception);
    restore_gate(vector_divide);

    exception = exception_of("ud2", : "memory");
    check_exception("with all gates", &exception, vector_invalid_opcode, 0, at_instruction);
}

extern const char user_invalid[], user_load[];
asm(".pushsection .user, \"aw\"\n"
    "user_invalid: ud2\n"
    "user_load: mov (%rdi), %al\n"
    ".popsection");

static void check_user(void) {
    remove_gate(vector_invalid_opcode);
    struct exception exception = run_user(user_invalid, 0);
    exception.frame.error_code &= 2;
    check_user_exception("user: #UD without a gate", &exception, vector_not_present, 2, user_invalid);
    restore_gate(vector_invalid_opcode);
    remove_gate(vector_page_fault);
    exception = run_user(user_load, absent - page_size);
    check_double_fault("user: #PF without a gate", exception);
    restore_gate(vector_page_fault);
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    check_handlers();
    check_mixed();
    check_delivery();
    check_user();
}
