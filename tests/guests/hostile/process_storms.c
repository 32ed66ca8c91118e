/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Processes, signals and calls without end, and ends of its own making.
 */
#include "hostile.h"

/* No stack: it is memory that all of them share. The VMM's text holds the loop, since only there calls are
 * the host's. Where nothing stops them there are 1024 in the end. */
extern const char fork_loop[], fork_loop_end[];
asm(".pushsection .rodata\n"
    "fork_loop: mov $10, %ebx\n"
    "1:	mov $56, %eax\n"
    "	mov $0x8011, %edi\n"
    "	xor %esi, %esi\n"
    "	xor %edx, %edx\n"
    "	xor %r10d, %r10d\n"
    "	xor %r8d, %r8d\n"
    "	.byte 0x0f, 0x05\n"
    "	test %eax, %eax\n"
    "	js 1b\n"
    "	dec %ebx\n"
    "	jnz 1b\n"
    "2:	jmp 2b\n"
    "fork_loop_end:\n"
    ".popsection");

/* Whatever was there: nobody comes back to it. */
CASE forks_without_end(void) {
    find_gadget();
    char* const at = (char*)(gadget & ~UINT64_C(0xff));
    for (const char* from = fork_loop; from < fork_loop_end; ++from) {
        *(volatile char*)(at + (from - fork_loop)) = *from;
    }
    asm volatile("jmp *%[to]" : : [to] "r"(at) : "memory");
}

static void set_timer(uint64_t first, uint64_t interval) {
    const uint64_t times[] = {0, interval, 0, first};
    host_call(number_timer_settime, 0, 0, (uintptr_t)times, 0, 0, 0);
}

CASE timer_storm(void) {
    find_gadget();
    at_the_deed();
    set_timer(1, 1);
    for (unsigned i = 0; i < 1000; ++i) {
        exception_of("ud2", "a"(0) : "memory");
    }
    print("timer: storm is over\n");
}

/* As many as there may be; the first is the VMM's. */
CASE timers_without_end(void) {
    find_gadget();
    unsigned count = 0;
    uint32_t number;
    while (count < 1000000 && host_call(number_timer_create, 1, 0, (uintptr_t)&number, 0, 0, 0) == 0) {
        ++count;
    }
    print("timers: %s\n", count < 1000000 ? "they have an end" : "FAIL: without end");
}

CASE doorbell_without_end(void) {
    find_gadget();
    static const uint64_t many[] = {1, ~UINT64_C(1), ~UINT64_C(0), 0};
    for (unsigned i = 0;; ++i) {
        host_call(number_write, host_event, (uintptr_t)&many[i & 3], 8, 0, 0, 0);
    }
}

CASE exits_with_status(void) {
    find_gadget();
    host_call(number_exit_group, 77, 0, 0, 0, 0, 0);
}
CASE exits_without_a_word(void) {
    find_gadget();
    host_call(number_exit_group, 0, 0, 0, 0, 0, 0);
}
CASE exits_like_one_killed(void) {
    find_gadget();
    host_call(number_exit_group, 255, 0, 0, 0, 0, 0);
}

CASE waits_for_ever(void) {
    find_gadget();
    static const uint32_t word;
    for (;;) {
        host_call(number_futex, (uintptr_t)&word, 0, 0, 0, 0, 0);
    }
}

/* What Linux puts on a handler's stack, above the return address. */
struct signal_frame {
    uint64_t flags, link, stack[3];
    uint64_t r8_to_r15[8], rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags;
    uint16_t cs, gs, fs, ss;
    uint64_t error_code, vector, old_mask, cr2, vector_registers, reserved[8];
    uint64_t mask;
};
static struct signal_frame signal_frame;

static void __attribute__((noreturn)) return_to(uintptr_t rip, uint16_t cs, uint64_t mask) {
    signal_frame = (struct signal_frame){.flags = 6,
                                         .rip = rip,
                                         .rflags = flag_always_one | flag_interrupt,
                                         .cs = cs,
                                         .ss = 0x2b,
                                         .mask = mask};
    signal_frame.rsp = (uintptr_t)&signal_frame;
    asm volatile("mov %[frame], %%rsp\n"
                 "jmp *%[gadget]"
                 :
                 : "a"((uint64_t)number_rt_sigreturn), [frame] "r"(&signal_frame), [gadget] "m"(gadget)
                 : "memory");
    __builtin_unreachable();
}

asm(".text\n"
    "deaf_loop: jmp deaf_loop\n"
    ".code32\n"
    "call_32: mov $1, %eax\n"
    "	int $0x80\n"
    "	ud2\n"
    "	jmp call_32\n"
    ".code64\n");
extern const char deaf_loop[], call_32[];

CASE blocks_all_signals(void) {
    find_gadget();
    return_to((uintptr_t)deaf_loop, 0x33, ~UINT64_C(0));
}
static void end_by_interrupt(struct frame* frame) {
    print("vector %lu\n", frame->vector);
    end_guest();
}

CASE returns_to_32_bits(void) {
    find_gadget();
    at_the_deed();
    handlers[0x80] = end_by_interrupt;
    return_to((uintptr_t)call_32, 0x23, 0);
}
CASE returns_to_nonsense(void) {
    find_gadget();
    at_the_deed();
    return_to(non_canonical, 0xfff3, ~UINT64_C(0));
}

DEFINE_GUEST
