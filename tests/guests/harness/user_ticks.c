/* SPDX-License-Identifier: BSD-2-Clause */
#include "user_ticks.h"

#include "exceptions.h"
#include "paging.h"
#include "pic.h"
#include "registers.h"
#include "timer.h"

enum { period = 1193 /* 1 ms */ };

volatile unsigned user_ticks, user_ticks_elsewhere;
static uintptr_t executed_page;

static void tick(struct frame* frame) {
    if ((frame->cs & 3) == 3) {
        ++user_ticks;
        user_ticks_elsewhere += frame->rip - executed_page >= page_size;
    }
    end_of_interrupt(0);
}

void start_user_ticks(uintptr_t page) {
    user_ticks = 0;
    user_ticks_elsewhere = 0;
    executed_page = page;
    handlers[first_irq_vector] = tick;
    unmask_irq(0);
    start_periodic(period);
}

void stop_user_ticks(void) {
    disable_interrupts();
    quiet_timer();
}
