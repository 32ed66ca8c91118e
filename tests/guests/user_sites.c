/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 30
 *
 * Text of the kernel's that user mode may execute: its sensitive instructions do there what they do in user
 * mode, and single steps through them end behind each. A VMM may have put something else in their place.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"
#include "harness/user.h"

enum { slot = 32, most_steps = 16, single_step = 1 << 14 };

/* One instruction in each slot, in the order of the names. */
extern const char refused[], allowed[], allowed_int[], stepped[];
extern const uint32_t places[], places_end[];
asm(".macro refused instruction:vararg\n"
    "	.balign 32, 0xcc\n"
    "	\\instruction\n"
    ".endm\n"
    ".macro step_behind instruction:vararg\n"
    "	\\instruction\n"
    "7600:\n"
    "	.pushsection .rodata\n"
    "	.long 7600b\n"
    "	.popsection\n"
    ".endm\n"
    ".balign 32\n"
    "refused:\n"
    "	refused cli\n"
    "	refused sti\n"
    "	refused mov %cr0, %rax\n"
    "	refused swapgs\n"
    "	refused hlt\n"
    "	refused inb $0x21, %al\n"
    "	refused outb %al, $0x80\n"
    "	refused mov %rax, %cr0\n"
    "	refused mov %cr3, %rax\n"
    "	refused mov %rax, %cr3\n"
    "	refused mov %dr7, %rax\n"
    "	refused clts\n"
    "	refused rdmsr\n"
    "	refused wrmsr\n"
    "	refused lgdt (%rsp)\n"
    "	refused invlpg (%rsp)\n"
    "	refused sysretq\n"
    "	.balign 32, 0xcc\n"
    "allowed: pushfq\n"
    "	pop %rbx\n"
    "	push %rbx\n"
    "	popfq\n"
    "	mov %cs, %ecx\n"
    "	mov %ss, %edx\n"
    "allowed_int: int $0x80\n"
    ".pushsection .rodata\n"
    ".balign 4\n"
    "places:\n"
    ".popsection\n"
    "stepped:\n"
    "	step_behind xor %eax, %eax\n"
    "	step_behind cpuid\n"
    "	step_behind pushfq\n"
    "	step_behind pop %rbx\n"
    "	step_behind mov %cs, %ecx\n"
    "	step_behind mov %ds, %edx\n"
    "	step_behind pushq $2\n"
    "	step_behind popfq\n"
    "	int $0x80\n"
    ".pushsection .rodata\n"
    "places_end:\n"
    ".popsection\n");

static const char* const names[] = {"cli",          "sti",   "mov from CR0", "swapgs",       "hlt",
                                    "in",           "out",   "mov to CR0",   "mov from CR3", "mov to CR3",
                                    "mov from DR7", "clts",  "rdmsr",        "wrmsr",        "lgdt",
                                    "invlpg",       "sysret"};

static struct exception run(const char* code, uint64_t flags) {
    const struct user_start start = {(uintptr_t)code, user_code, flag_always_one | flag_interrupt | flags,
                                     user_stack_top,  user_data, 0};
    return run_user_from(&start);
}

static void check_refused(unsigned which) {
    const char* const place = refused + (uintptr_t)slot * which;
    struct exception exception = run(place, 0);
    exception.place = exception.frame.rip == (uintptr_t)place ? at_symbol : elsewhere;
    check_exception(names[which], &exception, vector_protection, 0, at_symbol);
}

static void check_allowed(void) {
    struct exception exception = run(allowed, flag_carry);
    exception.place = exception.frame.rip == (uintptr_t)allowed_int + 2 ? at_symbol : elsewhere;
    check_exception("pushf, popf, mov from CS and SS", &exception, user_exit, 0, at_symbol);
    check_equal("RFLAGS", exception.frame.rbx, flag_always_one | flag_interrupt | flag_carry);
    check_equal("CS", exception.frame.rcx, user_code);
    check_equal("SS", exception.frame.rdx, user_data);
    check_equal("IF is still set", exception.frame.rflags & flag_interrupt, flag_interrupt);
}

static uint64_t rips[most_steps];
static unsigned steps;
static bool all_from_user;

static void note_step(struct frame* frame) {
    rips[steps++ % most_steps] = frame->rip;
    all_from_user = all_from_user && frame->cs == user_code && (read_dr6() & single_step) != 0;
    write_dr6(0);
}

static void check_steps(void) {
    const unsigned expected = (unsigned)(places_end - places);
    bool good = true;
    all_from_user = true;
    write_dr6(0);
    handlers[vector_debug] = note_step;
    run(stepped, flag_trap);
    handlers[vector_debug] = 0;
    check_equal("steps", steps, expected);
    for (unsigned i = 0; i < expected; ++i) {
        good = good && rips[i] == places[i];
    }
    check("each ends at the next instruction", good);
    check("each is user mode's", all_from_user);
}

static void open_text(void) {
    for (unsigned level = 4; level >= 2; --level) {
        volatile uint64_t* const entry = page_entry((uintptr_t)refused, level);
        set_entry(level, entry, *entry | page_user);
    }
    write_cr3(read_cr3());
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    open_text();
    write_msr(msr_efer, read_msr(msr_efer) | efer_syscall_enable); /* or sysret is #UD */
    check_allowed();
    check_steps();
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; ++i) {
        check_refused(i);
    }
    check_allowed();
}
