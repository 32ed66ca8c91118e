/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The MC146818 clock, whose interrupt is IRQ 8.
 */
#pragma once

#include "ports.h"

enum {
    clock_index = 0x70, /* bit 7 masks NMI */
    clock_data = 0x71,
    clock_register_a = 0x0a,
    clock_register_b = 0x0b,
    clock_register_c = 0x0c,
    clock_register_d = 0x0d,
};

enum {
    clock_update_in_progress = 0x80, /* A */
    clock_rate_1024 = 0x26,
    clock_set = 0x80,      /* B */
    clock_periodic = 0x40, /* as in C */
    clock_alarm = 0x20,
    clock_update_ended = 0x10,
    clock_binary = 0x04,
    clock_24_hours = 0x02,
    clock_interrupt = 0x80, /* C */
};

static inline uint8_t read_clock(uint8_t index) {
    out8(clock_index, 0x80 | index);
    return in8(clock_data);
}

static inline void write_clock(uint8_t index, uint8_t value) {
    out8(clock_index, 0x80 | index);
    out8(clock_data, value);
}
