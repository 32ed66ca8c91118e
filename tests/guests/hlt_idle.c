/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 6
 *
 * HLT waits for an interrupt and goes on behind itself: many times by single shots of the timer, many times
 * by a periodic one, and in the way an idle loop does it, which must not sleep over an interrupt that has
 * come already. With IF clear, a single shot that is due is taken once IF is set.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/pic.h"
#include "harness/registers.h"
#include "harness/timer.h"

enum {
    period = 1193, /* 1 ms */
    sleeps = 100,
};

static volatile unsigned ticks;
static uint64_t interrupted_rip;

/* Addressed by the assembly below. */
uint64_t behind_hlt;

static void tick(struct frame* frame) {
    ++ticks;
    interrupted_rip = frame->rip;
    end_of_interrupt(0);
}

/* Interrupts off to off. */
static void sleep(void) {
    asm volatile("movq $1f, behind_hlt\n sti\n hlt\n 1: cli" : : : "memory");
}

static void check_single_shots(void) {
    unsigned wrong_place = 0;
    ticks = 0;
    for (unsigned i = 0; i < sleeps; ++i) {
        start_one_shot((uint16_t)(period / (1 + i % 7)));
        sleep();
        wrong_place += interrupted_rip != behind_hlt;
    }
    check_equal("single shots: ticks", ticks, sleeps);
    check_equal("single shots: interrupts that were not taken behind hlt", wrong_place, 0);
}

static void check_due(void) {
    ticks = 0;
    request_timer_interrupt();
    sleep();
    check_equal("a request from before: it ends hlt", ticks, 1);
    check_equal("and is taken behind it", interrupted_rip, behind_hlt);
}

static void check_periodic(void) {
    unsigned slept = 0;
    ticks = 0;
    start_periodic(period);
    while (ticks < sleeps) {
        sleep();
        ++slept;
    }
    check("periodic: no sleep without a tick", slept <= ticks);
}

/* Some work, its length from nothing to about a period. */
static void check_idle_loop(void) {
    ticks = 0;
    while (ticks < sleeps) {
        const unsigned before = ticks;
        for (volatile unsigned work = 0; work < before * 500; ++work) {
        }
        while (ticks == before) {
            sleep();
        }
        enable_interrupts();
        asm volatile("nop");
        disable_interrupts();
    }
    check("an idle loop ends", ticks >= sleeps);
}

void guest(void) {
    load_descriptor_tables();
    quiet_timer();
    handlers[first_irq_vector] = tick;
    unmask_irq(0);
    check_due();
    check_single_shots();
    check_periodic();
    check_idle_loop();
}
