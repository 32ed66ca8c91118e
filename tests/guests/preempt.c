/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 4
 *
 * Interrupts at any instruction. A kernel and a user program compute without a pause, every register and the
 * flags in use, while the timer interrupts them: the result must be that of a computation nobody disturbed.
 * The loops hold no instruction that a VMM could take an interrupt at.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/pic.h"
#include "harness/registers.h"
#include "harness/timer.h"
#include "harness/user.h"

enum { period = 1193 /* 1 ms */, rounds = 200000, ticks_wanted = 20 };

static volatile unsigned ticks;
static volatile unsigned ticks_in_user_mode;

static void tick(struct frame* frame) {
    ++ticks;
    ticks_in_user_mode += (frame->cs & 3) == 3;
    end_of_interrupt(0);
}

/* RDI: rounds. All registers but RSP take part; the carry goes from one round to the next. The result is in
 * RAX. */
extern const char user_compute[], user_computed[];
#define COMPUTE                                                                                              \
    "	mov %rdi, %rcx\n"                                                                                      \
    "	.set seed, 1\n"                                                                                        \
    "	.irp register, rax, rbx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15\n"                   \
    "	movabs $0x9e3779b97f4a7c15 * seed, %\\register\n"                                                      \
    "	.set seed, seed + 2\n"                                                                                 \
    "	.endr\n"                                                                                               \
    "	clc\n"                                                                                                 \
    "1:	adc %rbx, %rax\n	adc %rdx, %rbx\n	adc %rsi, %rdx\n	adc %rdi, %rsi\n	"                                \
    "adc %rbp, %rdi\n"                                                                                       \
    "	adc %r8, %rbp\n	adc %r9, %r8\n	adc %r10, %r9\n	adc %r11, %r10\n	adc %r12, %r11\n"                      \
    "	adc %r13, %r12\n	adc %r14, %r13\n	adc %r15, %r14\n	adc %rax, %r15\n"                                   \
    "	push %rax\n	rcl $7, %rax\n	adc %rax, (%rsp)\n	pop %rax\n"                                              \
    "	dec %rcx\n" /* leaves the carry alone */                                                             \
    "	jnz 1b\n"                                                                                              \
    "	.irp register, rbx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15\n"                        \
    "	xor %\\register, %rax\n"                                                                               \
    "	rol $5, %rax\n"                                                                                        \
    "	.endr\n"

asm(".pushsection .user, \"aw\"\n"
    "user_compute:\n" COMPUTE "	plain int $0x80\n"
    "user_computed:\n"
    ".popsection");

uint64_t compute(uint64_t count);
asm("compute: push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n" COMPUTE
    "	pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
    "	ret\n");

static void check_kernel(uint64_t expected) {
    unsigned wrong = 0;
    ticks = 0;
    enable_interrupts();
    while (ticks < ticks_wanted) {
        wrong += compute(rounds) != expected;
    }
    disable_interrupts();
    check_equal("kernel, interrupted: results that differ", wrong, 0);
}

static void check_user(uint64_t expected) {
    unsigned wrong = 0;
    ticks_in_user_mode = 0;
    while (ticks_in_user_mode < ticks_wanted) {
        const struct exception exception = run_user(user_compute, rounds);
        wrong += exception.frame.rax != expected || exception.frame.rip != user_address(user_computed);
    }
    check_equal("user mode, interrupted: results that differ", wrong, 0);
}

/* Waits with no instruction at all between the tests of a variable. */
static void check_spin(void) {
    ticks = 0;
    enable_interrupts();
    while (ticks < ticks_wanted) {
    }
    disable_interrupts();
    check("a loop without a call sees the ticks", true);
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    const uint64_t expected = compute(rounds);
    check_equal("undisturbed, twice the same", compute(rounds), expected);
    quiet_timer();
    handlers[first_irq_vector] = tick;
    unmask_irq(0);
    start_periodic(period);
    check_spin();
    check_kernel(expected);
    check_user(expected);
}
