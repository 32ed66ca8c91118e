/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 6
 *
 * Bursts of interrupts, so close that the next one comes at any place of the way to a handler and back. The
 * pauses are for what is interrupted: it has to get on. Through an interrupt gate they are off from the first
 * instruction of the handler to its iret, and on again in what it interrupted, kernel or user mode, without
 * fail.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/pic.h"
#include "harness/registers.h"
#include "harness/timer.h"
#include "harness/user.h"

enum { period = 24 /* 20 us */, pause = 10 * period, burst = 16, ticks_wanted = 20000, user_rounds = 2000 };

static volatile unsigned ticks;
static volatile unsigned enabled_in_handler;
static volatile unsigned disabled_before;

static unsigned enabled(void) {
    return (read_flags() & flag_interrupt) != 0 ? 1U : 0U;
}

static void tick(struct frame* frame) {
    enabled_in_handler += enabled();
    disabled_before += (frame->rflags & flag_interrupt) == 0 ? 1U : 0U;
    ++ticks;
    if (ticks % burst == 0) {
        start_one_shot(pause);
    } else if (ticks % burst == 1) {
        start_periodic(period);
    }
    end_of_interrupt(0);
    enabled_in_handler += enabled();
}

asm(".pushsection .user, \"aw\"\n"
    "user_spin:\n"
    "1:	dec %rdi\n"
    "	jnz 1b\n"
    "	plain int $0x80\n"
    ".popsection");
extern const char user_spin[];

static void begin(void) {
    ticks = 0;
    enabled_in_handler = 0;
    disabled_before = 0;
}

static void check_all(const char* inside, const char* interrupted, const char* behind,
                      unsigned disabled_behind) {
    check_equal(inside, enabled_in_handler, 0);
    check_equal(interrupted, disabled_before, 0);
    check_equal(behind, disabled_behind, 0);
}

static void check_kernel(void) {
    unsigned disabled_behind = 0;
    begin();
    enable_interrupts();
    while (ticks < ticks_wanted && disabled_behind == 0) {
        disabled_behind += 1 - enabled();
    }
    disable_interrupts();
    check_all("kernel: handlers with interrupts on", "kernel: interrupted with interrupts off",
              "kernel: interrupts off behind one", disabled_behind);
}

static void check_user(void) {
    unsigned disabled_behind = 0;
    begin();
    while (ticks < ticks_wanted && disabled_behind == 0) {
        const struct exception exception = run_user(user_spin, user_rounds);
        disabled_behind += (exception.frame.rflags & flag_interrupt) == 0 ? 1U : 0U;
    }
    check_all("user mode: handlers with interrupts on", "user mode: interrupted with interrupts off",
              "user mode: interrupts off behind one", disabled_behind);
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    quiet_timer();
    handlers[first_irq_vector] = tick;
    unmask_irq(0);
    start_one_shot(pause);
    check_kernel();
    check_user();
}
