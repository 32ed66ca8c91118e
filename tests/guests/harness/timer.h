/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Counter 0 of the 8254 timer, whose output is IRQ 0.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    timer_frequency = 1193182,
    timer_command = 0x43,
    timer_counter0 = 0x40,
};

/* Mode 0: the output falls now and rises once, `count` periods later. */
void start_one_shot(uint16_t count);

/* Mode 2: the output rises every `count` periods, for ever. */
void start_periodic(uint16_t count);

bool timer_output(void);

/* Starts the PIC, with no request of IRQ 0 there and none to come. Firmware leaves the timer running. */
void quiet_timer(void);

/* One request of IRQ 0, which the PIC has latched on return. Interrupts must be off, or IRQ 0 masked. */
void request_timer_interrupt(void);
