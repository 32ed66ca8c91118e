/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 52
 *
 * SYSCALL and SYSRET as kernels set them up, with SFMASK clearing all flags and SWAPGS at both ends: the
 * kernel starts with no flag set, SYSRET gives back those of R11, whichever they are, and an interrupt that
 * has waited comes to the first instruction of user mode. Then a program makes system calls without a pause,
 * while the timer interrupts it and the kernel: no register and no flag of it may change.
 *
 * Left out: NT, for which there is syscall.c, and TF at SYSRET (QEMU traps one instruction early).
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/pic.h"
#include "harness/registers.h"
#include "harness/system_calls.h"
#include "harness/timer.h"
#include "harness/user.h"

enum { period = 119 /* 0.1 ms */, rounds = 2000, ticks_wanted = 100 };

static volatile unsigned ticks_in_kernel, ticks_in_user_mode;
static volatile uint64_t last_tick_rip;

static void tick(struct frame* frame) {
    ++*((frame->cs & 3) == 3 ? &ticks_in_user_mode : &ticks_in_kernel);
    last_tick_rip = frame->rip;
    end_of_interrupt(0);
}

uint8_t call_stack[4096] __attribute__((aligned(16)));
/* What GS names in the kernel: stack, the user's RSP, the flags on entry. */
static struct {
    uint64_t stack, user_rsp, flags;
} call_state = {.stack = (uintptr_t)call_stack + sizeof(call_stack)};

/* RAX is one more at the end. */
extern const char call_entry[];
asm("call_entry:\n"
    "	swapgs\n"
    "	mov %rsp, %gs:8\n"
    "	mov %gs:0, %rsp\n"
    "	push %rcx\n"
    "	push %r11\n"
    "	pushfq\n"
    "	popq %gs:16\n"
    "	sti\n"
    "	inc %rax\n"
    "	cli\n"
    "	pop %r11\n"
    "	pop %rcx\n"
    "	mov %gs:8, %rsp\n"
    "	swapgs\n"
    "	sysretq");

extern const char user_call[], user_called[], user_calls[], user_calls_done[], user_gs[];
asm(".pushsection .user, \"aw\"\n"
    "user_call: syscall\n"
    "	plain int $0x80\n"
    "user_called:\n"
    /* RDI: rounds. RAX is 0 if all went well. */
    "user_calls: mov %rdi, %rbx\n"
    "	.set seed, 1\n"
    "	.irp register, rdx, rsi, rdi, rbp, r8, r9, r10, r12, r13, r14, r15\n"
    "	mov $0x1234567 * seed, %\\register\n"
    "	.set seed, seed + 2\n"
    "	.endr\n"
    "1:	lea -1(%rbx), %rax\n"
    "	cmp %rbx, %rbx\n"
    "	stc\n"
    "	syscall\n"
    "2:	jnc 3f\n"
    "	jnz 3f\n"
    "	cmp $0x247, %r11\n" /* IF, ZF, PF, the bit that is always one, CF */
    "	jne 3f\n"
    "	lea 2b(%rip), %r11\n"
    "	cmp %r11, %rcx\n"
    "	jne 3f\n"
    "	cmp %rbx, %rax\n"
    "	jne 3f\n"
    "	cmpq $0x5555, %gs:0\n"
    "	jne 3f\n"
    "	.set seed, 1\n"
    "	.irp register, rdx, rsi, rdi, rbp, r8, r9, r10, r12, r13, r14, r15\n"
    "	cmp $0x1234567 * seed, %\\register\n"
    "	.set seed, seed + 2\n"
    "	jne 3f\n"
    "	.endr\n"
    "	dec %rbx\n"
    "	jnz 1b\n"
    "	xor %eax, %eax\n"
    "	plain int $0x80\n"
    "user_calls_done:\n"
    "3:	mov $1, %eax\n"
    "	plain int $0x80\n"
    ".balign 8\n"
    "user_gs: .quad 0x5555\n"
    ".popsection");

static void set_up(void) {
    enable_system_calls(call_entry);
    write_msr(msr_gs_base, user_address(user_gs));
    write_msr(msr_kernel_gs_base, (uintptr_t)&call_state);
}

static void check_flags(const char* what, uint64_t flags) {
    struct user_start start = start_of(user_call, 0);
    start.rflags = flag_always_one | flags;
    const struct exception exception = run_user_from(&start);
    check_user_exception(what, &exception, user_exit, 0, user_called);
    check_equal("the kernel's flags", call_state.flags, flag_always_one);
    check_equal("R11", exception.frame.r11, start.rflags);
    check_equal("the flags behind it", exception.frame.rflags, start.rflags);
    check_equal("RSP", call_state.user_rsp, start.rsp);
    check_equal("CS", exception.frame.cs, user_code);
    check_equal("SS", exception.frame.ss, user_data);
}

static void check_all_flags(void) {
    check_flags("a system call", flag_interrupt);
    check_flags("with the arithmetic flags and DF", flag_interrupt | arithmetic_flags | flag_direction);
    check_flags("with ID", flag_interrupt | flag_identification);
    check_flags("with AC", flag_interrupt | flag_alignment_check);
    check_flags("with IOPL", flag_interrupt | flag_iopl);
    check_flags("with IF clear", 0);
}

/* RAX: where to. RFLAGS.IF is clear until then. */
void return_to_user(uint64_t rip, uint64_t rsp);
asm("return_to_user:\n"
    "	push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "	mov %rsp, user_return_rsp\n"
    "	mov %rdi, %rcx\n"
    "	mov %rsi, %rsp\n"
    "	mov $0x202, %r11d\n"
    "	sysretq");

static void check_waiting_interrupt(void) {
    for (unsigned i = 0; i < 3; ++i) {
        disable_interrupts();
        request_timer_interrupt();
        ticks_in_user_mode = 0;
        return_to_user(user_address(user_call), user_stack_top);
        check_user_exception("sysret with an interrupt waiting", &last_exception, user_exit, 0, user_called);
        check_equal("it came", ticks_in_user_mode, 1);
        check_equal("to the first instruction", last_tick_rip, user_address(user_call));
    }
}

static void check_interrupted(void) {
    unsigned wrong = 0;
    ticks_in_user_mode = 0;
    ticks_in_kernel = 0;
    start_periodic(period);
    while (ticks_in_user_mode < ticks_wanted || ticks_in_kernel < ticks_wanted) {
        const struct exception exception = run_user(user_calls, rounds);
        wrong += exception.frame.rax != 0 || exception.frame.rip != user_address(user_calls_done);
    }
    check_equal("system calls, interrupted: rounds that went wrong", wrong, 0);
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    set_up();
    quiet_timer();
    handlers[first_irq_vector] = tick;
    check_all_flags();
    unmask_irq(0);
    check_waiting_interrupt();
    check_interrupted();
}
