/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 3
 *
 * Interrupts that come one at a time, each at a random moment: nothing else would take the processor from a
 * program that computes. Before it computes, it enters the kernel a few times, or the kernel changes between
 * address spaces, so that the interrupt may come on the way.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/pic.h"
#include "harness/registers.h"
#include "harness/timer.h"
#include "harness/user.h"

enum { rounds = 4000, longest_delay = 64 /* 54 us */, most_exits = 8, long_enough = 1 << 30 };

static volatile bool came;

static void tick(struct frame* frame) {
    came = true;
    end_of_interrupt(0);
    if ((frame->cs & 3) == 3) {
        leave_user(frame);
    }
}

/* From 0 to limit - 1. */
static unsigned random_below(unsigned limit) {
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % limit;
}

static void start_lone_interrupt(void) {
    came = false;
    start_one_shot((uint16_t)(1 + random_below(longest_delay)));
}

asm(".pushsection .user, \"aw\"\n"
    "user_exits:\n"
    "	plain int $0x80\n"
    "user_computes:\n"
    "1:	dec %rdi\n"
    "	jnz 1b\n"
    "	plain int $0x80\n"
    ".popsection");
extern const char user_exits[], user_computes[];

static void check_user(void) {
    unsigned lost = 0;
    for (unsigned round = 0; round < rounds && lost == 0; ++round) {
        start_lone_interrupt();
        for (unsigned exits = random_below(most_exits); exits > 0 && !came; --exits) {
            run_user(user_exits, 0);
        }
        if (!came) {
            run_user(user_computes, long_enough);
            lost += came ? 0U : 1U;
        }
    }
    check_equal("user mode: interrupts that did not come", lost, 0);
}

/* All of the tables but the first one are the same. */
static uintptr_t copy_of_root(uintptr_t root) {
    uint64_t* const copy = allocate_page();
    for (unsigned i = 0; i < page_size / sizeof(uint64_t); ++i) {
        copy[i] = ((const uint64_t*)root)[i];
    }
    return (uintptr_t)copy;
}

static void compute_until_it_came(void) {
    for (unsigned i = 0; i < long_enough && !came; ++i) {
    }
}

static void check_kernel(void) {
    unsigned lost = 0;
    for (unsigned round = 0; round < rounds && lost == 0; ++round) {
        start_lone_interrupt();
        enable_interrupts();
        compute_until_it_came();
        disable_interrupts();
        lost += came ? 0U : 1U;
    }
    check_equal("kernel: interrupts that did not come", lost, 0);
}

static void check_address_spaces(void) {
    const uintptr_t roots[] = {read_cr3() & page_frame, copy_of_root(read_cr3() & page_frame)};
    unsigned lost = 0;
    for (unsigned round = 0; round < rounds && lost == 0; ++round) {
        start_lone_interrupt();
        enable_interrupts();
        for (unsigned changes = 2 * random_below(most_exits); changes > 0 && !came; --changes) {
            write_cr3(roots[changes % 2]);
        }
        compute_until_it_came();
        disable_interrupts();
        lost += came ? 0U : 1U;
    }
    write_cr3(roots[0]);
    check_equal("between address spaces: interrupts that did not come", lost, 0);
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    quiet_timer();
    handlers[first_irq_vector] = tick;
    unmask_irq(0);
    check_kernel();
    check_user();
    check_address_spaces();
}
