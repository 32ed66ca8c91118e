/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 19
 *
 * Far jumps, calls and returns of 64-bit code, which load CS: through memory to the same privilege level, and
 * by LRET of each width; LRETQ also to user mode. A far call pushes CS and the return address, each of its
 * operand's width. A selector that will not do faults at the instruction.
 *
 * Left out: offsets of 64 bits in memory, which AMD's processors do not know.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/registers.h"
#include "harness/user.h"

enum {
    other_code = spare_descriptors, /* like kernel_code */
    not_present_code = spare_descriptors + 8,
};

struct far_pointer {
    uint32_t offset;
    uint16_t selector;
} __attribute__((packed));

/* Return CS. */
uint64_t call_far(const struct far_pointer* to);
uint64_t jump_far(uint64_t selector);
extern const char far_function[];
asm("far_function: mov %cs, %eax\n"
    "	lretl\n"
    "call_far: lcalll *(%rdi)\n"
    "	ret\n"
    "jump_far: movl $1f, jump_far_pointer\n"
    "	mov %edi, jump_far_pointer + 4\n"
    "	mov $jump_far_pointer, %eax\n"
    "	ljmpl *(%rax)\n"
    "1:	mov %cs, %eax\n"
    "	ret\n"
    ".local jump_far_pointer\n"
    ".comm jump_far_pointer, 8, 8\n");

static void check_same_level(void) {
    const struct far_pointer to = {(uint32_t)(uintptr_t)far_function, other_code};
    gdt[other_code / 8] = gdt[kernel_code / 8];
    check_equal("lcall: CS there", call_far(&to), other_code);
    check_equal("CS behind it", read_cs(), kernel_code);
    check_equal("ljmp: CS there", jump_far(other_code), other_code);
    const struct exception exception = exception_of("ud2", : "memory");
    check_exception("an exception under that CS", &exception, vector_invalid_opcode, 0, at_instruction);
    check_equal("saves it", exception.frame.cs, other_code);
    check_equal("and iret returns to it", read_cs(), other_code);
    check_equal("ljmp back", jump_far(kernel_code), kernel_code);
    uint64_t moved;
    asm volatile("mov %%rsp, %[moved]\n"
                 "pushq $0x1234\n pushq $0x5678\n"
                 "pushq %[code]\n pushq $1f\n"
                 "lretq $16\n"
                 "1: sub %%rsp, %[moved]"
                 : [moved] "=&r"(moved)
                 : [code] "i"(kernel_code)
                 : "memory", "cc");
    check_equal("lret $16 drops 16 bytes", moved, 0);
}

static void check_faults(void) {
    static struct far_pointer pointer;
    gdt[not_present_code / 8] = make_descriptor(0, 0xfffff, 0x1b, 0xa);
    pointer = (struct far_pointer){(uint32_t)(uintptr_t)far_function, not_present_code};
    struct exception exception = exception_of("lcalll *(%[pointer])", [pointer] "r"(&pointer) : "memory");
    check_exception("lcall: not present", &exception, vector_not_present, not_present_code, at_instruction);
    check_equal("and nothing is pushed", exception.frame.rsp, expectation.rsp);
    exception = exception_of("ljmpl *(%[pointer])", [pointer] "r"(&pointer) : "memory");
    check_exception("ljmp: not present", &exception, vector_not_present, not_present_code, at_instruction);
    pointer.selector = kernel_data;
    exception = exception_of("ljmpl *(%[pointer])", [pointer] "r"(&pointer) : "memory");
    check_exception("ljmp: data", &exception, vector_protection, kernel_data, at_instruction);
    pointer.selector = kernel_code | 3;
    exception = exception_of("ljmpl *(%[pointer])", [pointer] "r"(&pointer) : "memory");
    check_exception("ljmp: RPL above CPL", &exception, vector_protection, kernel_code, at_instruction);
    exception = exception_at("pushq $0\n pushq $0", "lretq", : "memory");
    check_exception("lret: null", &exception, vector_protection, 0, at_instruction);
    check_equal("and nothing is popped", exception.frame.rsp, expectation.rsp - 16);
}

extern const char user_stop[];
asm(".pushsection .user, \"aw\"\n"
    "user_stop: plain int $0x90\n"
    ".popsection");

void return_to_user(uint64_t rip);
asm("return_to_user:\n"
    "	push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "	mov %rsp, user_return_rsp\n"
    "	pushq $0x2b\n"
    "	pushq $0x40200000\n"
    "	pushq $0x33\n"
    "	push %rdi\n"
    "	lretq");

static void check_user(void) {
    prepare_user();
    return_to_user(user_address(user_stop));
    last_exception.frame.error_code &= 7;
    check_user_exception("lret to user mode", &last_exception, vector_protection, 2, user_stop);
    check_equal("CS", last_exception.frame.cs, user_code);
    check_equal("SS", last_exception.frame.ss, user_data);
    check_equal("RSP", last_exception.frame.rsp, user_stack_top);
}

void guest(void) {
    load_descriptor_tables();
    check_same_level();
    check_faults();
    check_user();
}
