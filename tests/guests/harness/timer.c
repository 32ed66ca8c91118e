/* SPDX-License-Identifier: BSD-2-Clause */
#include "timer.h"

#include "pic.h"
#include "ports.h"

enum {
    mode0 = 0x30, /* counter 0, low byte first */
    mode2 = 0x34,
    read_back_status = 0xe2, /* counter 0 */
    longest = 0xffff,
    short_time = 100,
};

static void start_counter(uint8_t mode, uint16_t count) {
    out8(timer_command, mode);
    out8(timer_counter0, (uint8_t)count);
    out8(timer_counter0, (uint8_t)(count >> 8));
}

void start_one_shot(uint16_t count) {
    start_counter(mode0, count);
}

void start_periodic(uint16_t count) {
    start_counter(mode2, count);
}

bool timer_output(void) {
    out8(timer_command, read_back_status);
    return (in8(timer_counter0) & 0x80) != 0;
}

void request_timer_interrupt(void) {
    start_one_shot(short_time);
    while (!(interrupts_requested() & 1)) {
    }
}

/* A rising edge may be seen some time after the output shows it, so the last one is waited for and then
 * forgotten. */
void quiet_timer(void) {
    do {
        start_one_shot(longest);
        start_pic();
    } while (timer_output());
    request_timer_interrupt();
    start_pic();
}
