/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 44
 *
 * SYSCALL and SYSRET, once EFER.SCE is set; #UD before. SYSCALL puts the next address into RCX and RFLAGS
 * into R11, clears in RFLAGS what SFMASK has set, takes CS and SS from STAR and RIP from LSTAR, and leaves
 * RSP alone. SYSRET is the way back, to 64-bit or 32-bit code. A user's TF that SFMASK clears does not trap
 * in the kernel. Where TF is set behind either, #DB comes before the next instruction.
 *
 * Left out: RF, SYSCALL from 32-bit code (vendors differ), and SYSRET to a non-canonical address (vendors
 * differ).
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/registers.h"
#include "harness/system_calls.h"
#include "harness/user.h"

enum {
    syscall_vector = 0xc0, /* under which syscall_entry reports to the recorder */
    masked_flags = flag_interrupt | flag_trap | flag_direction | flag_nested_task,
    kept_flags = flag_alignment_check | flag_identification,
};

extern const char user_flags[], user_flags_done[], user_syscall[], user_after[], user_twice[],
    user_twice_done[], user_32[], user_32_done[];
asm(".pushsection .user, \"aw\"\n"
    "user_flags: plain pushfq\n"
    "	pop %rax\n"
    "	push %rdi\n"
    "	plain popfq\n"
    "	plain int $0x80\n"
    "user_flags_done:\n"
    "user_syscall: syscall\n"
    "user_after:\n"
    "user_twice: mov %rdi, %rbx\n"
    "	syscall\n"
    "	mov %rax, %rdi\n"
    "	syscall\n"
    "	plain mov %ss, %edx\n"
    "	plain int $0x80\n"
    "user_twice_done:\n"
    ".code32\n"
    "user_32: mov %edi, %eax\n"
    "	inc %eax\n"
    "	int $0x80\n"
    "user_32_done:\n"
    ".code64\n"
    ".popsection");

/* Addressed by the assembly below. */
uint64_t syscall_rsp, syscall_flags;
uint32_t syscall_selectors[2];
uint8_t syscall_stack[4096] __attribute__((aligned(16)));

extern const char syscall_entry[];
asm("syscall_entry:\n"
    "	mov %rsp, syscall_rsp\n"
    "	mov $syscall_stack + 4096, %rsp\n"
    "	pushfq\n"
    "	popq syscall_flags\n"
    "	mov %cs, syscall_selectors\n"
    "	mov %ss, syscall_selectors + 4\n"
    "	pushq $0x2b\n"
    "	pushq syscall_rsp\n"
    "	push %r11\n"
    "	pushq $0x33\n"
    "	push %rcx\n"
    "	pushq $0\n"
    "	pushq $0xc0\n"
    "	jmp common_entry");

/* As enter_user_mode in harness/user.S, by SYSRET. */
void enter_by_sysret(const struct user_start* start, uint64_t to_32_bits);
asm("enter_by_sysret:\n"
    "	push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "	mov %rsp, user_return_rsp\n"
    "	mov 0(%rdi), %rcx\n"
    "	mov 16(%rdi), %r11\n"
    "	mov 24(%rdi), %rsp\n"
    "	mov 40(%rdi), %rdi\n"
    "	test %esi, %esi\n"
    "	jnz 1f\n"
    "	sysretq\n"
    "1:	sysretl");

static struct exception run_by_sysret(const char* code, uint64_t argument, uint64_t flags, bool to_32_bits) {
    struct user_start start = start_of(code, argument);
    start.rflags = flags;
    disable_interrupts();
    enter_by_sysret(&start, to_32_bits);
    return last_exception;
}

static void check_disabled(void) {
    struct exception exception = run_user(user_syscall, 0);
    check_user_exception("SCE clear: syscall", &exception, vector_invalid_opcode, 0, user_syscall);
    exception = exception_of("sysretq", "c"(user_address(user_syscall)) : "r11", "memory");
    check_exception("SCE clear: sysret", &exception, vector_invalid_opcode, 0, at_instruction);
}

static void check_registers(void) {
    const uint64_t star = (uint64_t)(user_code32) << 48 | (uint64_t)kernel_code << 32;
    write_msr(msr_efer, read_msr(msr_efer) | efer_syscall_enable);
    write_msr(msr_star, star);
    write_msr(msr_lstar, (uintptr_t)syscall_entry);
    write_msr(msr_sfmask, masked_flags);
    check_equal("EFER.SCE reads as set", read_msr(msr_efer) & efer_syscall_enable, efer_syscall_enable);
    check_equal("STAR", read_msr(msr_star), star);
    check_equal("LSTAR", read_msr(msr_lstar), (uintptr_t)syscall_entry);
    check_equal("SFMASK", read_msr(msr_sfmask), masked_flags);
}

static void check_syscall(void) {
    struct user_start start = start_of(user_syscall, 0x123456789abcdef0);
    start.rflags |= arithmetic_flags | flag_direction | kept_flags;
    start.rsp -= 48;
    struct exception exception = run_user_from(&start);
    check_user_exception("syscall", &exception, syscall_vector, 0, user_after);
    check_equal("R11 has the flags", exception.frame.r11, start.rflags);
    check_equal("RFLAGS are masked", syscall_flags & (masked_flags | kept_flags), kept_flags);
    check_equal("RSP is the user's", syscall_rsp, start.rsp);
    check_equal("RDI is the user's", exception.frame.rdi, start.rdi);
    check_equal("CS", syscall_selectors[0], kernel_code);
    check_equal("SS", syscall_selectors[1], kernel_data);

    start = start_of(user_syscall, 0);
    start.rflags |= flag_trap;
    exception = run_user_from(&start);
    check_user_exception("syscall with TF set", &exception, syscall_vector, 0, user_after);
    check_equal("R11 has TF", exception.frame.r11 & flag_trap, flag_trap);
    check_equal("RFLAGS has not", syscall_flags & flag_trap, 0);
}

/* To the user NT is a flag like any other: the kernel takes it and gives it back. */
static void check_nested_task(void) {
    struct user_start start = start_of(user_syscall, 0);
    start.rflags |= flag_nested_task;
    struct exception exception = run_user_from(&start);
    check_user_exception("iret sets NT, and syscall", &exception, syscall_vector, 0, user_after);
    check_equal("R11 has NT", exception.frame.r11, start.rflags);
    check_equal("RFLAGS has not", syscall_flags & flag_nested_task, 0);

    const uint64_t with = start.rflags;
    const uint64_t without = with & ~(uint64_t)flag_nested_task;
    exception = run_by_sysret(user_flags, without, with, false);
    check_user_exception("sysret sets NT, popf clears it, and int", &exception, user_exit, 0,
                         user_flags_done);
    check_equal("it was set", exception.frame.rax, with);
    check_equal("the frame has it clear", exception.frame.rflags, without);

    exception = run_by_sysret(user_flags, with, without, false);
    check_user_exception("popf sets NT, and int", &exception, user_exit, 0, user_flags_done);
    check_equal("it was clear", exception.frame.rax, without);
    check_equal("the frame has it", exception.frame.rflags, with);
}

static void check_sysret(void) {
    const uint64_t flags = flag_always_one | flag_interrupt | flag_carry | flag_sign;
    struct exception exception = run_by_sysret(user_syscall, 7, flags, false);
    check_user_exception("sysret to 64-bit code", &exception, syscall_vector, 0, user_after);
    check_equal("RFLAGS", exception.frame.r11, flags);
    check_equal("RDI", exception.frame.rdi, 7);
    check_equal("RSP", syscall_rsp, user_stack_top);

    write_msr(msr_lstar, (uintptr_t)increment_entry);
    exception = run_by_sysret(user_twice, 40, flags, false);
    check_user_exception("two system calls", &exception, user_exit, 0, user_twice_done);
    check_equal("their result", exception.frame.rax, 42);
    check_equal("RBX is kept", exception.frame.rbx, 40);
    check_equal("CS", exception.frame.cs, user_code);
    check_equal("SS", exception.frame.ss, user_data);
    check_equal("SS as user mode reads it", exception.frame.rdx, user_data);
    check_equal("RFLAGS", exception.frame.rflags, flags);

    exception = run_by_sysret(user_32, 8, flags, true);
    check_user_exception("sysret to 32-bit code", &exception, user_exit, 0, user_32_done);
    check_equal("CS", exception.frame.cs, user_code32);
    check_equal("SS", exception.frame.ss, user_data);
    check_equal("EAX", exception.frame.rax, 9);
}

static uint64_t trap_rip, trap_cs, trap_status;
static unsigned traps;

static void note_trap(struct frame* frame) {
    ++traps;
    trap_rip = frame->rip;
    trap_cs = frame->cs;
    trap_status = read_dr6();
    frame->rflags &= ~(uint64_t)flag_trap;
    write_dr6(0);
}

static void check_trap(const char* what, const char* wanted_rip, uint64_t wanted_cs) {
    enum { single_step = 1 << 14 };
    check(what, traps == 1 && trap_rip == (uintptr_t)wanted_rip && trap_cs == wanted_cs &&
                    (trap_status & single_step) != 0);
    traps = 0;
}

static void check_traps(void) {
    const uint64_t flags = flag_always_one | flag_interrupt | flag_trap;
    write_msr(msr_lstar, (uintptr_t)syscall_entry);
    write_dr6(0);
    handlers[vector_debug] = note_trap;
    run_by_sysret(user_syscall, 0, flags, false);
    check_trap("sysret sets TF: #DB before the user's instruction", (const char*)user_address(user_syscall),
               user_code);
    run_by_sysret(user_32, 0, flags, true);
    check_trap("sysret to 32-bit code sets TF: likewise", (const char*)user_address(user_32), user_code32);
    write_msr(msr_sfmask, masked_flags & ~(uint64_t)flag_trap);
    struct user_start start = start_of(user_syscall, 0);
    start.rflags |= flag_trap;
    run_user_from(&start);
    check_trap("syscall keeps TF: #DB before the kernel's instruction", syscall_entry, kernel_code);
    run_by_sysret(user_syscall, 0, flags & ~(uint64_t)flag_trap, false);
    check_equal("without TF: traps", traps, 0);
    write_msr(msr_sfmask, masked_flags);
    handlers[vector_debug] = 0;
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    check_disabled();
    check_registers();
    check_syscall();
    check_nested_task();
    check_sysret();
    check_traps();
}
