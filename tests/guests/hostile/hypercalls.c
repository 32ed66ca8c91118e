/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SYSCALL from the guest's kernel, which has lost its ring, is a hypercall past the VMM, with numbers and
 * arguments that make no sense. The domain may suffer; Xen must not.
 */
#include "hostile.h"

static int64_t raw_hypercall(uint64_t number, const uint64_t* arguments) {
    register uint64_t fourth asm("r10") = arguments[3];
    register uint64_t fifth asm("r8") = arguments[4];
    uint64_t first = arguments[0];
    uint64_t second = arguments[1];
    uint64_t third = arguments[2];
    int64_t result;
    asm volatile(".byte 0x0f, 0x05"
                 : "=a"(result), "+D"(first), "+S"(second), "+d"(third), "+r"(fourth), "+r"(fifth)
                 : "0"(number)
                 : "rcx", "r11", "memory", "cc");
    return result;
}

static uint64_t arguments_memory[1024] __attribute__((aligned(4096)));

/* A small number, a pointer to garbage of ours, one into the VMM or Xen, or anything. */
static uint64_t next_argument(uint64_t* state) {
    const uint64_t random = next_random(state);
    const uint64_t value = random >> 8;
    switch (random & 7) {
    case 0:
    case 1:
    case 2:
        return value & 0x1f;
    case 3:
    case 4:
        return (uintptr_t)arguments_memory + (value & 0xff8);
    case 5:
        return vmm_image + (value & 0x1fffff);
    case 6:
        return hypervisor_area + (value & 0xffffffff);
    default:
        return next_random(state);
    }
}

static void call_at_random(unsigned calls, uint64_t seed, bool (*may_call)(uint64_t number)) {
    uint64_t state = seed;
    unsigned refused = 0;
    at_the_deed();
    for (unsigned i = 0; i < calls; ++i) {
        for (unsigned word = 0; word < 64; ++word) {
            const uint64_t random = next_random(&state);
            arguments_memory[next_random(&state) & 1023] = (random & 3) != 0 ? random >> 8 & 0xffff : random;
        }
        const uint64_t number = next_random(&state) & 63;
        uint64_t arguments[5];
        for (unsigned argument = 0; argument < 5; ++argument) {
            arguments[argument] = next_argument(&state);
        }
        if (may_call(number)) {
            refused += raw_hypercall(number, arguments) < 0;
        }
    }
    print("random hypercalls: %s\n", refused > calls / 4 ? "most are refused" : "FAIL: few are refused");
}

enum {
    set_trap_table = 0,
    stack_switch = 3,
    set_callbacks = 4,
    scheduler = 29,
    iret = 23,
    callbacks = 30,
    old_scheduler = 6,
    page_tables = 1,
    extended_page_tables = 26,
    memory = 12,
    mapping = 14,
    several = 13,
    processor = 24,
    console = 18,
};

static bool all(uint64_t number) {
    (void)number;
    return true;
}

/* Without those that change what the domain itself needs to go on. */
static bool survivable(uint64_t number) {
    switch (number) {
    case set_trap_table:
    case page_tables:
    case stack_switch:
    case set_callbacks:
    case old_scheduler:
    case memory:
    case mapping:
    case iret:
    case extended_page_tables:
    case scheduler:
    case callbacks:
    case several:
    case processor:
    case console:
        return false;
    default:
        return true;
    }
}

static bool of_page_tables(uint64_t number) {
    return number == page_tables || number == memory || number == mapping || number == extended_page_tables;
}

CASE hypercalls_survived(void) {
    call_at_random(4000, 88172645463325252, survivable);
}
CASE hypercalls_of_page_tables(void) {
    call_at_random(20000, 0x9e3779b97f4a7c15, of_page_tables);
}
CASE hypercalls_first_seed(void) {
    call_at_random(4000, 0xbf58476d1ce4e5b9, all);
}
CASE hypercalls_second_seed(void) {
    call_at_random(4000, 0x94d049bb133111eb, all);
}
CASE hypercalls_third_seed(void) {
    call_at_random(4000, 0x2545f4914f6cdd1d, all);
}

DEFINE_GUEST
