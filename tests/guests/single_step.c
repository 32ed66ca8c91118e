/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 4
 *
 * Single steps through sensitive instructions. With TF set, #DB comes behind every instruction, and DR6 says
 * BS. Behind means at the next instruction of the program, whatever a VMM has put in the place of one. PUSHF
 * stores TF as set; a POPF that clears it is followed by a last trap.
 */
#include "harness/check.h"
#include "harness/console.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/registers.h"
#include "harness/uart.h"

enum { most_steps = 32, single_step = 1 << 14 };

static uint64_t rips[most_steps];
static unsigned steps;
static bool all_single_steps;

static void step(struct frame* frame) {
    rips[steps++ % most_steps] = frame->rip;
    all_single_steps = all_single_steps && (read_dr6() & single_step);
    write_dr6(0);
}

/* The places where a step has to end: labels of stepped_code. */
extern const uint32_t places[];
extern const uint32_t places_end[];
uint64_t stepped_code(void);

/* A step ends behind each `stepped` instruction, and behind the popf that clears TF. */
asm(".macro stepped instruction:vararg\n"
    "	\\instruction\n"
    "7600:\n"
    "	.pushsection .rodata\n"
    "	.long 7600b\n"
    "	.popsection\n"
    ".endm\n"
    ".pushsection .rodata\n"
    ".balign 4\n"
    "places:\n"
    ".popsection\n"
    "stepped_code:\n"
    "	push %rbx\n"
    "	pushfq\n"
    "	orq $0x100, (%rsp)\n"
    "	popfq\n"
    "	stepped mov $0x21, %edx\n"
    "	stepped cli\n"
    "	stepped inb %dx, %al\n"
    "	stepped outb %al, %dx\n"
    "	stepped mov %cr0, %rax\n"
    "	stepped mov %rax, %cr0\n"
    "	stepped mov %cr3, %rax\n"
    "	stepped mov %rax, %cr3\n"
    "	stepped clts\n"
    "	stepped mov $0xc0000102, %ecx\n"
    "	stepped rdmsr\n"
    "	stepped wrmsr\n"
    "	stepped mov %ds, %eax\n"
    "	stepped mov %eax, %es\n"
    "	stepped push %fs\n"
    "	stepped pop %fs\n"
    "	stepped swapgs\n"
    "	stepped swapgs\n"
    "	stepped invlpg (%rsp)\n"
    "	stepped xor %eax, %eax\n"
    "	stepped cpuid\n"
    "	stepped pushfq\n"
    "	stepped pop %rbx\n"
    "	stepped pushq $2\n"
    "	popfq\n"
    ".pushsection .rodata\n"
    "	.long 7601f\n"
    "places_end:\n"
    ".popsection\n"
    "7601:	nop\n"
    "	mov %rbx, %rax\n"
    "	pop %rbx\n"
    "	ret\n");

static void check_steps(void) {
    const unsigned expected = (unsigned)(places_end - places);
    bool good = true;
    handlers[vector_debug] = step;
    all_single_steps = true;
    write_dr6(0);
    const uint64_t flags = stepped_code();
    handlers[vector_debug] = 0;
    check_equal("as many steps as instructions", steps, expected);
    for (unsigned i = 0; i < expected; ++i) {
        if (rips[i] != places[i]) {
            print("FAIL: step %u ended at 0x%lx instead of 0x%x\n", i, rips[i], places[i]);
            good = false;
            break;
        }
    }
    check("each ends at the next instruction", good);
    check("DR6 has said BS each time", all_single_steps);
    check_equal("pushf has stored TF", flags & flag_trap, flag_trap);
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    check_steps();
}
