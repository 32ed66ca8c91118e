/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The host's system calls: from the guest's own code, where they are the guest's, and past the VMM, where a
 * filter waits.
 */
#include "hostile.h"

#include "harness/user.h"

#define REFUSED(name, ...)                                                                                   \
    CASE call_##name(void) {                                                                                 \
        find_gadget();                                                                                       \
        must_not_return(host_call(__VA_ARGS__));                                                             \
    }

static const char shell[] = "/bin/sh";

REFUSED(open, number_open, (uintptr_t)shell, 0, 0, 0, 0, 0)
REFUSED(socket, number_socket, 1, 1, 0, 0, 0, 0)
REFUSED(execve, number_execve, (uintptr_t)shell, 0, 0, 0, 0, 0)
REFUSED(fork, number_fork, 0, 0, 0, 0, 0, 0)
REFUSED(thread, number_clone, 0x10f00, 0, 0, 0, 0, 0)
REFUSED(namespace, number_clone, 0x10000000 | clone_beside_parent, 0, 0, 0, 0, 0)
REFUSED(kill, number_kill, (uint64_t)-1, 9, 0, 0, 0, 0)
REFUSED(kill_keeper, number_kill, 1, 9, 0, 0, 0, 0)
REFUSED(ptrace, number_ptrace, 16, 1, 0, 0, 0, 0)
REFUSED(new_memory, number_mmap, 0, 4096, 3, 0x22, (uint64_t)-1, 0)
REFUSED(memory_of_event, number_mmap, 0x10000000, 4096, 3, map_shared_fixed, host_event, 0)
REFUSED(growing_memory, number_mprotect, vmm_private, 4096, 0x01000003, 0, 0, 0)
REFUSED(handler, number_rt_sigaction, 9, 0, 0, 8, 0, 0)
REFUSED(privileges, number_prctl, 38, 0, 0, 0, 0, 0)
REFUSED(dispatch_off, number_prctl, 59, 0, 0, 0, 0, 0)
REFUSED(write_memory, number_write, host_memory, (uintptr_t)shell, 8, 0, 0, 0)
REFUSED(write_error, number_write, 2, (uintptr_t)shell, 8, 0, 0, 0)
REFUSED(of_x32, 0x40000000 | number_write, host_event, (uintptr_t)shell, 8, 0, 0, 0)
REFUSED(that_is_none, 100000, 0, 0, 0, 0, 0, 0)

/* The table of 32-bit programs, whose numbers are others: 1 is its exit, 11 its execve. */
CASE call_of_32_bits(void) {
    static const char code[] = {(char)0xcd, (char)0x80, (char)0xc3};
    gadget = put_gadget(code, sizeof code);
    must_not_return(host_call(1, 0, 0, 0, 0, 0, 0));
}

/* The one of that table that the filter lets through. Its descriptor is anywhere, or any. */
CASE calls_allowed_of_32_bits(void) {
    static const char code[] = {0x53, (char)0x89, (char)0xfb, (char)0xcd, (char)0x80, 0x5b, (char)0xc3};
    uint32_t* const descriptor = (uint32_t*)(vmm_image + 0x1f0000); /* below 4 GiB */
    uint64_t state = 0x9e3779b97f4a7c15;
    gadget = put_gadget(code, sizeof code); /* push %rbx; mov %edi, %ebx; int $0x80; pop %rbx; ret */
    at_the_deed();
    for (unsigned i = 0; i < 10000; ++i) {
        const uint64_t random = next_random(&state);
        descriptor[0] = 10 + (random & 7);
        for (unsigned word = 1; word < 4; ++word) {
            descriptor[word] = (uint32_t)next_random(&state);
        }
        host_call(243, random & 0x100 ? (uintptr_t)descriptor : (uint32_t)next_random(&state), 0, 0, 0, 0, 0);
    }
    print("calls done\n");
}

/* What user mode jumps to, it executes. */
asm(".pushsection .user, \"aw\"\n"
    "user_fork: mov $57, %eax\n"
    "	jmp *%rdi\n"
    ".popsection");
extern const char user_fork[];

CASE call_by_user(void) {
    prepare_user();
    find_gadget();
    run_user(user_fork, gadget);
    print("FAIL: it came back\n");
}

/* Any number, with anything. The domain of these is the guest. */
static uint64_t next_argument(uint64_t* state) {
    const uint64_t random = next_random(state);
    switch (random & 7) {
    case 0:
    case 1:
        return random >> 8 & 0xff;
    case 2:
        return random >> 8 & 0xffffffff & ~UINT64_C(0xfff);
    case 3:
        return vmm_image + (random >> 8 & 0x1ff000);
    case 4:
        return vmm_map + (random >> 8 & 0xfffff000);
    case 5:
        return (uintptr_t)&gadget;
    case 6:
        return host_memory;
    default:
        return next_random(state);
    }
}

/* Those that the filter lets through, at least with some arguments; but for exit_group. */
static void call_what_is_allowed(uint64_t seed) {
    static const uint16_t numbers[] = {number_mmap,  number_munmap,       number_mprotect,       number_clone,
                                       number_prctl, number_timer_create, number_timer_settime,  number_futex,
                                       number_write, number_rt_sigreturn, number_restart_syscall};
    find_gadget();
    uint64_t state = seed;
    at_the_deed();
    for (unsigned i = 0; i < 10000; ++i) {
        const uint16_t number = numbers[next_random(&state) % (sizeof numbers / sizeof numbers[0])];
        uint64_t arguments[6];
        for (unsigned argument = 0; argument < 6; ++argument) {
            arguments[argument] = next_argument(&state);
        }
        switch (number) { /* so that it goes through */
        case number_mmap:
            arguments[2] &= rights_all;
            arguments[3] = map_shared_fixed;
            arguments[4] = host_memory;
            break;
        case number_mprotect:
            arguments[2] &= rights_all;
            break;
        case number_clone:
            arguments[0] = clone_beside_parent;
            break;
        case number_prctl:
            arguments[0] = 59;
            arguments[1] = 1;
            arguments[4] = 0;
            break;
        case number_timer_create:
            arguments[0] = 1;
            break;
        case number_timer_settime:
            arguments[0] = arguments[1] = arguments[3] = 0;
            break;
        case number_futex:
            arguments[1] &= 1;
            break;
        case number_write:
            arguments[0] = host_event;
            arguments[2] = 8;
            break;
        }
        host_call(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
    }
    print("calls done\n");
}

CASE calls_allowed_first_seed(void) {
    call_what_is_allowed(0xbf58476d1ce4e5b9);
}
CASE calls_allowed_second_seed(void) {
    call_what_is_allowed(0x94d049bb133111eb);
}
CASE calls_allowed_third_seed(void) {
    call_what_is_allowed(0x2545f4914f6cdd1d);
}

/* ---- the guest's own */

enum { calls = 5000, call_vector = 0xc0 };

/* As syscall.c has it: user mode's call becomes an exception. */
uint64_t call_rsp;
uint8_t call_stack[4096] __attribute__((aligned(16)));
extern const char call_entry[], user_call[];
asm("call_entry:\n"
    "	mov %rsp, call_rsp\n"
    "	mov $call_stack + 4096, %rsp\n"
    "	pushq $0x2b\n"
    "	pushq call_rsp\n"
    "	push %r11\n"
    "	pushq $0x33\n"
    "	push %rcx\n"
    "	pushq $0\n"
    "	pushq $0xc0\n"
    "	jmp common_entry\n"
    ".pushsection .user, \"aw\"\n"
    "user_call: mov %rdi, %rax\n"
    "	mov $3, %edi\n"
    "	mov $0x10000, %esi\n"
    "	mov $7, %edx\n"
    "	syscall\n"
    "	ud2\n"
    ".popsection");

CASE calls_of_kernel(void) {
    unsigned lost = 0;
    for (uint64_t number = 0; number < 1000; ++number) {
        lost += exception_of(".byte 0x0f, 0x05", "a"(number), "D"(0), "S"(0), "d"(0) : "rcx", "r11", "memory")
                    .frame.vector != vector_invalid_opcode;
    }
    check_equal("calls that are not what they are without EFER.SCE", lost, 0);
}

CASE calls_of_user(void) {
    prepare_user();
    write_msr(msr_efer, read_msr(msr_efer) | efer_syscall_enable);
    write_msr(msr_star, (uint64_t)(user_code32 & ~3) << 48 | (uint64_t)kernel_code << 32);
    write_msr(msr_lstar, (uintptr_t)call_entry);
    write_msr(msr_sfmask, flag_interrupt);
    uint64_t state = 88172645463325252;
    unsigned lost = 0;
    for (unsigned i = 0; i < calls; ++i) {
        const uint64_t random = next_random(&state);
        const uint64_t number = i < 1000 ? i : random & 1 ? random : 0x40000000 | (random >> 8 & 0x3ff);
        const struct exception exception = run_user(user_call, number);
        lost += exception.frame.vector != call_vector || exception.frame.rax != number;
    }
    check_equal("calls that did not come to the guest's kernel", lost, 0);
}

DEFINE_GUEST
