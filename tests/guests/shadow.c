/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 30
 *
 * When a pending interrupt is taken. STI holds interrupts off for one more instruction, so that STI; HLT and
 * STI; RET cannot be torn apart and STI; CLI lets nothing in. POPF and IRET hold nothing off. The saved RIP
 * tells.
 *
 * Left out: the shadow of MOV SS, behind which no request can be made to arrive at a certain time.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/pic.h"
#include "harness/registers.h"
#include "harness/timer.h"

static unsigned count;
static uint64_t interrupted_rip;
static uint64_t interrupted_flags;

/* Addressed by TAKEN_AT. */
uint64_t expected_rip;

static void take(struct frame* frame) {
    ++count;
    interrupted_rip = frame->rip;
    interrupted_flags = frame->rflags;
    end_of_interrupt(0);
}

/* Label 10 marks where the interrupt has to be taken. */
#define TAKEN_AT(what, instructions)                                                                         \
    do {                                                                                                     \
        count = 0;                                                                                           \
        request_timer_interrupt();                                                                           \
        asm volatile("movq $10f, expected_rip\n" instructions "\n cli" : : : "rax", "memory", "cc");         \
        check_equal(what, interrupted_rip, expected_rip);                                                    \
        check("once, with IF set in the saved flags", count == 1 && (interrupted_flags & flag_interrupt));   \
    } while (0)

/* Nothing is taken; afterwards the request is. */
#define NOT_TAKEN(what, instructions)                                                                        \
    do {                                                                                                     \
        count = 0;                                                                                           \
        request_timer_interrupt();                                                                           \
        asm volatile(instructions : : : "rax", "memory", "cc");                                              \
        check_equal(what, count, 0);                                                                         \
        asm volatile("sti\n nop\n nop\n cli" : : : "memory");                                                \
        check_equal("and is taken after all", count, 1);                                                     \
    } while (0)

void guest(void) {
    load_descriptor_tables();
    quiet_timer();
    handlers[first_irq_vector] = take;
    unmask_irq(0);

    TAKEN_AT("sti; nop", "sti\n nop\n 10: nop");
    TAKEN_AT("sti; hlt", "sti\n hlt\n 10: nop");
    TAKEN_AT("sti; in", "sti\n inb $0x21, %%al\n 10: nop");
    TAKEN_AT("sti; pushf", "sti\n pushfq\n 10: pop %%rax");
    TAKEN_AT("sti; mov from CR0", "sti\n mov %%cr0, %%rax\n 10: nop");
    TAKEN_AT("sti; jmp", "sti\n jmp 10f\n ud2\n 10: nop");
    TAKEN_AT("sti; ret", "jmp 2f\n 1: sti\n ret\n 2: call 1b\n 10: nop");
    TAKEN_AT("popf", "pushq $0x202\n popfq\n 10: nop");
    TAKEN_AT(
        "iret",
        "mov %%rsp, %%rax\n pushq $0x18\n pushq %%rax\n pushq $0x202\n pushq $0x10\n pushq $10f\n iretq\n"
        "10: nop");
    NOT_TAKEN("IF clear: nothing is taken", "nop\n nop");
    NOT_TAKEN("sti; cli: nothing is taken", "sti\n cli\n nop");
    NOT_TAKEN("sti; popf of IF clear: nothing is taken", "pushq $2\n sti\n popfq\n nop");
    NOT_TAKEN("popf of IF clear: nothing is taken", "pushq $2\n popfq\n nop");

    mask_irq(0);
    NOT_TAKEN("masked: nothing is taken",
              "sti\n nop\n nop\n cli\n inb $0x21, %%al\n andb $0xfe, %%al\n outb %%al, $0x21");
    TAKEN_AT("sti; nop; cli", "sti\n nop\n 10: cli");
}
