/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Recording exceptions that a guest expects, and handlers of its own for vectors.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    vector_divide = 0,
    vector_debug = 1,
    vector_breakpoint = 3,
    vector_invalid_opcode = 6,
    vector_no_device = 7,
    vector_double_fault = 8,
    vector_not_present = 11,
    vector_stack = 12,
    vector_protection = 13,
    vector_page_fault = 14,
    vector_x87 = 16,
    vector_alignment = 17,
    vector_simd = 19,
    no_exception = 256,
};

struct frame {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax;
    uint64_t vector;
    uint64_t error_code; /* 0 where the vector has none */
    uint64_t rip, cs, rflags, rsp, ss;
};

enum place { at_instruction, behind_instruction, at_symbol, elsewhere };

struct exception {
    struct frame frame;
    uint64_t cr2;
    uintptr_t frame_end; /* address just above the pushed SS */
    enum place place;    /* of RIP */
};

/* Where an exception may come from and where execution goes on after it. Addressed by exception_at's
 * assembly. */
struct expectation {
    uint64_t at, behind, rsp;
    bool armed;
};

extern volatile struct expectation expectation;
extern struct exception last_exception;

/* A handler in place of the recorder; returns to the interrupted code. */
typedef void handler(struct frame* frame);
extern handler* handlers[256];

const void* vector_entry(unsigned vector);
void arm_expectation(void);

/* Runs `setup` and `instruction`, and gives the exception that they raised; its vector is no_exception if
   they went through. Execution goes on behind `instruction`, with the RSP from before `setup`. What follows
   are the operands of an asm statement from its inputs on. A padded site has its NOP behind the instruction:
   a RIP up to the end of the site is behind_instruction. */
#define exception_at(setup, instruction, ...)                                                                \
    ({                                                                                                       \
        arm_expectation();                                                                                   \
        asm volatile("movq $10f, expectation\n"                                                              \
                     "movq $11f, expectation + 8\n"                                                          \
                     "movq %%rsp, expectation + 16\n" setup "\n"                                             \
                     "10: " instruction "\n"                                                                 \
                     "11: movb $0, expectation + 24"                                                         \
                     : "+m"(expectation), "+m"(last_exception)                                               \
                     : __VA_ARGS__);                                                                         \
        asm volatile("" : : : "memory");                                                                     \
        last_exception;                                                                                      \
    })
#define exception_of(instruction, ...) exception_at("", instruction, __VA_ARGS__)

/* "ok: what: #GP(0x10) at it". */
void check_exception(const char* what, const struct exception* exception, unsigned vector,
                     uint64_t error_code, enum place place);
