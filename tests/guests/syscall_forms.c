/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 38
 *
 * SYSCALL with the instructions behind it that compilers and C libraries put there: a move and a call, a jump,
 * a return, two or three short instructions, a store that faults. A VMM may have replaced them all by something
 * quicker. They do what they say, at each of many calls, also while the program checks alignment; a call pushes
 * the address behind it; a fault has the address of its own instruction; whoever jumps to the second or third of
 * them finds it, however often; and an interrupt sees no address but the program's.
 *
 * Left out: a program that reads its own instructions.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"
#include "harness/system_calls.h"
#include "harness/timer.h"
#include "harness/user.h"
#include "harness/user_ticks.h"

#include <string.h>

enum { rounds = 1000, ticks_wanted = 20 };

static const uintptr_t place = 0x40400000;
static const uintptr_t absent = 0x40600000 - 8;

/* A loop over a form with RBX from RDI down to 1: the form gets it in RDI, RDX and RAX, and returns in RAX
 * what is RBX again behind `back`. RAX is 0 at the end if it always was. */
#define LOOP(name, form, back)     \
    ".globl " name "\n" name ":\n" \
    "	mov %rdi, %rbx\n"             \
    "1:	mov %rbx, %rdi\n"           \
    "	mov %rbx, %rdx\n"             \
    "	mov %rbx, %rax\n"             \
    "	mov $7, %r8d\n"               \
    "	call " form "\n" back         \
    "	cmp %rbx, %rax\n"             \
    "	jne forms_failed\n"           \
    "	dec %rbx\n"                   \
    "	jnz 1b\n"                     \
    "	jmp forms_passed\n"

/* RBX counts down from RDI: at 1 the store faults, 8 bytes below this address. */
#define STORE(name, address)       \
    name ":\n"                     \
    "	mov %rdi, %rbx\n"             \
    "1:	lea -1(%rbx), %rdi\n"      \
    "	lea 2f(%rip), %rsi\n"        \
    "	mov $" address ", %rax\n"    \
    "	test %rdi, %rdi\n"           \
    "	cmovne %rsp, %rax\n"         \
    "	lea -0x123c(%rax), %r12\n"   \
    "	syscall\n"                   \
    "2:	mov %rax, 0x1234(%r12)\n"  \
    "	cmp %rsi, %rcx\n"            \
    "	jne forms_failed\n"          \
    "	cmp %rax, -8(%rsp)\n"        \
    "	jne forms_failed\n"          \
    "	dec %rbx\n"                  \
    "	jmp 1b\n"

extern const char forms_begin[], forms_done[], forms_end[], form_store[], form_far_store[];
extern const char loop_call[], loop_far_jump[], loop_jump[], loop_return[], loop_two[], loop_three[], loop_extend[],
    loop_compare[], loop_relative[], loop_second_of_two[], loop_second_of_three[], loop_third_of_three[],
    loop_second_of_extend[];
asm(".pushsection .user, \"aw\"\n"
    ".balign 4096\n"
    "forms_begin:\n"
    /* musl's way */
    "form_call:\n"
    "	syscall\n"
    "	mov %rax, %rdi\n"
    "	call 2f\n"
    "1:	ret\n"
    "2:	lea 1b(%rip), %rcx\n"
    "	cmp %rcx, (%rsp)\n"
    "	jne forms_failed\n"
    "	lea -1(%rdi), %rax\n"
    "	ret\n"
    "form_far_jump:\n"
    "	syscall\n"
    "	mov %rax, %rdi\n"
    "	jmp form_less_one\n"
    "form_jump:\n"
    "	syscall\n"
    "	mov %rax, %rdi\n"
    "	jmp 1f\n"
    "	ud2\n"
    "1:	lea -1(%rdi), %rax\n"
    "	ret\n"
    ".balign 16, 0xcc\n"
    "form_return:\n"
    "	syscall\n"
    "	ret\n"
    ".balign 16, 0xcc\n"
    "form_two:\n"
    "	syscall\n"
    "	neg %eax\n"
    "form_second_of_two:\n"
    "	add $1, %eax\n"
    "	neg %eax\n"
    "	ret\n"
    "form_three:\n"
    "	syscall\n"
    "	mov %eax, %edx\n"
    "form_second_of_three:\n"
    "	push %rdx\n"
    "form_third_of_three:\n"
    "	mov $5, %r8d\n"
    "	pop %rax\n"
    "	cmp $5, %r8d\n"
    "	jne forms_failed\n"
    "	ret\n"
    "form_pushed:\n" /* its third instruction alone */
    "	pop %rcx\n"
    "	push %rcx\n"
    "	push %rdx\n"
    "	jmp form_third_of_three\n"
    "form_extend:\n"
    "	syscall\n"
    "	movslq %eax, %rdi\n"
    "form_second_of_extend:\n"
    "	test %edi, %edi\n"
    "	js forms_failed\n"
    "	lea -1(%rdi), %rax\n"
    "	ret\n"
    /* A boundary in the jump's last byte. */
    "form_compare:\n"
    "	syscall\n"
    "	cmp $-38, %rax\n"
    "	je forms_failed\n"
    "	dec %rax\n"
    "	ret\n"
    /* It cannot be moved. */
    "form_relative:\n"
    "	syscall\n"
    "	lea form_relative(%rip), %rcx\n"
    "	lea form_relative(%rip), %rdx\n"
    "	cmp %rcx, %rdx\n"
    "	jne forms_failed\n"
    "	dec %rax\n"
    "	ret\n"
    STORE("form_store", "0x40600000") STORE("form_far_store", "0x800000001000")
    /* The loops. */
    LOOP("loop_call", "form_call", "") LOOP("loop_far_jump", "form_far_jump", "") LOOP("loop_jump", "form_jump", "")
        LOOP("loop_return", "form_return", "dec %rax\n") LOOP("loop_two", "form_two", "")
            LOOP("loop_three", "form_three", "dec %rax\n") LOOP("loop_extend", "form_extend", "")
                LOOP("loop_compare", "form_compare", "") LOOP("loop_relative", "form_relative", "")
                    LOOP("loop_second_of_two", "form_second_of_two", "not %eax\n")
                        LOOP("loop_second_of_three", "form_second_of_three", "")
                            LOOP("loop_third_of_three", "form_pushed", "")
                                LOOP("loop_second_of_extend", "form_second_of_extend", "inc %rax\n")
    "form_less_one:\n"
    "	lea -1(%rdi), %rax\n"
    "	ret\n"
    "forms_passed: xor %eax, %eax\n"
    "	plain int $0x80\n"
    "forms_done:\n"
    "forms_failed: mov $1, %eax\n"
    "	plain int $0x80\n"
    "forms_end:\n"
    ".popsection");

static const struct {
    const char *what, *loop;
} forms[] = {
    {"a move and a call", loop_call},
    {"a move and a far jump", loop_far_jump},
    {"a move and a near jump", loop_jump},
    {"a return", loop_return},
    {"two instructions", loop_two},
    {"three instructions", loop_three},
    {"an extension and a test", loop_extend},
    {"a comparison of 4 bytes", loop_compare},
    {"an instruction relative to RIP", loop_relative},
};

static const struct {
    const char *what, *loop;
} jumps[] = {
    {"jumps to the second of two", loop_second_of_two},
    {"jumps to the second of three", loop_second_of_three},
    {"jumps to the third of three", loop_third_of_three},
    {"jumps behind an extension", loop_second_of_extend},
};

static uint64_t further_flags;

static struct exception run_at(const char* symbol, uint64_t argument) {
    struct user_start start = start_of(symbol, argument);
    start.rflags |= further_flags;
    start.rip = place + (uint64_t)(symbol - forms_begin);
    return run_user_from(&start);
}

static bool ends_well(const struct exception* exception) {
    return exception->frame.rax == 0 && exception->frame.rip == place + (uint64_t)(forms_done - forms_begin);
}

static void check_loop(const char* what, const char* loop) {
    const struct exception exception = run_at(loop, rounds);
    check(what, ends_well(&exception));
}

static void check_forms(void) {
    for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); ++i) {
        check_loop(forms[i].what, forms[i].loop);
    }
}

static void check_store(const char* what, const char* symbol, unsigned vector) {
    const struct exception exception = run_at(symbol, rounds);
    check_equal(what, (uint32_t)exception.frame.vector, vector);
    check("the store's address is the instruction's",
          exception.frame.rip == exception.frame.rsi && exception.frame.rbx == 1);
    if (vector == vector_page_fault) {
        check_equal("the address stored to", (uint32_t)exception.cr2, (uint32_t)absent);
    }
}

static void check_interrupted(void) {
    unsigned wrong = 0;
    start_user_ticks(place);
    while (user_ticks < ticks_wanted) {
        for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); ++i) {
            const struct exception exception = run_at(forms[i].loop, rounds);
            wrong += !ends_well(&exception);
        }
    }
    stop_user_ticks();
    check_equal("interrupted: forms that went wrong", wrong, 0);
    check_equal("interrupts that saw another address", user_ticks_elsewhere, 0);
}

void guest(void) {
    static uint8_t* const code = (uint8_t*)0x3000000;
    load_descriptor_tables();
    prepare_user();
    enable_system_calls(increment_entry);
    quiet_timer();

    memcpy(code, forms_begin, (size_t)(forms_end - forms_begin));
    set_entry(2, page_entry((uintptr_t)code, 2), (uintptr_t)code | page_present | page_large);
    write_cr3(read_cr3());
    map_page(place, (uintptr_t)code, page_present | page_user);
    check_forms();
    check_store("a store to an absent page: its vector", form_store, vector_page_fault);
    check_store("a store beyond user mode's addresses: its vector", form_far_store, vector_protection);
    write_cr0(read_cr0() | cr0_alignment_mask);
    further_flags = flag_alignment_check;
    check_forms();
    further_flags = 0;
    check_interrupted();
    for (unsigned i = 0; i < sizeof(jumps) / sizeof(*jumps); ++i) {
        check_loop(jumps[i].what, jumps[i].loop);
    }
    check_forms();
}
