/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 8
 *
 * Single steps through sensitive instructions. With TF set, #DB comes behind every instruction, and DR6 says
 * BS. Behind means at the next instruction of the program, whatever a VMM has put in the place of one. PUSHF
 * stores TF as set; a POPF that clears it is followed by a last trap. Behind MOV to SS there is none (SDM
 * volume 3, 6.8.3).
 *
 * The same for instructions that no record names, as they stand in code that the kernel makes: they trap, and
 * a VMM executes them.
 */
#include "harness/check.h"
#include "harness/console.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/registers.h"
#include "harness/uart.h"
#include "harness/user.h"

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
    "	mov %ss, %eax\n"
    "7602:	.pushsection .rodata\n"
    "	.long 7602b\n"
    "	.popsection\n"
    "	mov %eax, %ss\n"
    "	stepped nop\n"
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

/* Likewise without records: section .user is data to the kernel. */
extern const uint32_t trapped_places[];
extern const uint32_t trapped_places_end[];
uint64_t trapped_code(void);
asm(".pushsection .rodata\n"
    "trapped_places:\n"
    ".popsection\n"
    ".pushsection .user, \"aw\"\n"
    "trapped_code:\n"
    "	push %rbx\n"
    "	plain pushfq\n"
    "	orq $0x100, (%rsp)\n"
    "	plain popfq\n"
    "	stepped mov $0x21, %edx\n"
    "	stepped plain cli\n"
    "	stepped plain inb %dx, %al\n"
    "	stepped plain outb %al, %dx\n"
    "	stepped plain mov %dr6, %rax\n"
    "	stepped plain mov %rax, %dr6\n"
    "	stepped plain swapgs\n"
    "	stepped plain swapgs\n"
    "	stepped plain invlpg (%rsp)\n"
    "	stepped plain pushfq\n"
    "	stepped pop %rbx\n"
    "	stepped pushq $2\n"
    "	plain popfq\n"
    ".pushsection .rodata\n"
    "	.long 7601f\n"
    "trapped_places_end:\n"
    ".popsection\n"
    "7601:	nop\n"
    "	mov %rbx, %rax\n"
    "	pop %rbx\n"
    "	ret\n"
    ".popsection\n");

static void check_steps(uint64_t code(void), const uint32_t* begin, const uint32_t* end) {
    const unsigned expected = (unsigned)(end - begin);
    bool good = true;
    steps = 0;
    handlers[vector_debug] = step;
    all_single_steps = true;
    write_dr6(0);
    const uint64_t flags = code();
    handlers[vector_debug] = 0;
    check_equal("as many steps as instructions", steps, expected);
    for (unsigned i = 0; i < expected; ++i) {
        if (rips[i] != begin[i]) {
            print("FAIL: step %u ended at 0x%lx instead of 0x%x\n", i, rips[i], begin[i]);
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
    check_steps(stepped_code, places, places_end);
    check_steps(trapped_code, trapped_places, trapped_places_end);
}
