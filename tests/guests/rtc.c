/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 17
 *
 * The MC146818 clock: its RAM, its four registers, reading and setting the time, and its interrupts. While
 * SET is set the time stands still and may be written; once a second it moves on, which UIP announces.
 * Reading C gives the interrupt flags and clears them; until then the line stays up, and no further edge
 * reaches the PIC.
 */
#include "harness/check.h"
#include "harness/clock.h"
#include "harness/console.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/pic.h"
#include "harness/registers.h"
#include "harness/timer.h"

enum {
    seconds = 0,
    minutes = 2,
    hours = 4,
    day_of_week = 6,
    day = 7,
    month = 8,
    year = 9,
    century = 0x32,
    free_byte = 0x70
};

struct time {
    uint8_t year, month, day, hours, minutes, seconds;
};

static volatile unsigned interrupts;
static volatile uint8_t flags, flags_then;

static void take(struct frame* frame) {
    (void)frame;
    ++interrupts;
    flags |= read_clock(clock_register_c); /* none where the next period came before the last second read */
    flags_then = read_clock(clock_register_c);
    end_of_interrupt(8);
}

static void check_registers(void) {
    for (unsigned pattern = 0x55; pattern <= 0xaa; pattern += 0x55) {
        write_clock(free_byte, (uint8_t)pattern);
        write_clock(free_byte + 1, (uint8_t)~pattern);
        check_equal("RAM", read_clock(free_byte), pattern);
        check_equal("RAM beside it", read_clock(free_byte + 1), (uint8_t)~pattern);
    }
    check_equal("D: the battery is good", read_clock(clock_register_d) & 0x80, 0x80);
    write_clock(clock_register_a, 0x2f);
    check_equal("A: divider and rate", read_clock(clock_register_a) & 0x7f, 0x2f);
    write_clock(clock_register_a, clock_rate_1024);
    write_clock(clock_register_b, clock_24_hours);
    check_equal("B", read_clock(clock_register_b), clock_24_hours);
}

static void set_time(uint8_t mode, struct time time) {
    write_clock(clock_register_b, clock_set | mode);
    write_clock(seconds, time.seconds);
    write_clock(minutes, time.minutes);
    write_clock(hours, time.hours);
    write_clock(day, time.day);
    write_clock(month, time.month);
    write_clock(year, time.year);
    write_clock(century, mode & clock_binary ? 20 : 0x20);
    write_clock(clock_register_b, mode);
}

static uint64_t read_time(void) {
    uint64_t time = 0;
    static const uint8_t fields[] = {year, month, day, hours, minutes, seconds};
    for (unsigned i = 0; i < sizeof fields; ++i) {
        time = time << 8 | read_clock(fields[i]);
    }
    return time;
}

static bool update_in_progress(void) {
    return (read_clock(clock_register_a) & clock_update_in_progress) != 0;
}

/* The time is not defined while UIP is set. */
static void wait_for_end_of(uint8_t second) {
    do {
        while (update_in_progress()) {
        }
    } while (read_clock(seconds) == second);
}

/* Not to the second: the machine may have been held up. */
static void check_time(void) {
    write_clock(clock_register_b, clock_set | clock_24_hours);
    set_time(clock_set | clock_24_hours, (struct time){0x24, 0x12, 0x31, 0x23, 0x59, 0x59});
    check_equal("SET: the time is what was written", read_time(), 0x241231235959);
    write_clock(clock_register_b, clock_24_hours);
    wait_for_end_of(0x59);
    check_equal("BCD: a year ends", read_time() >> 8, 0x2501010000);
    set_time(clock_24_hours | clock_binary, (struct time){24, 2, 28, 23, 59, 59});
    wait_for_end_of(59);
    check_equal("binary: 29 February follows in a leap year", read_time() >> 8, 0x18021d0000);
}

static void check_update_in_progress(void) {
    uint8_t before;
    do {
        while (!update_in_progress()) {
        }
        before = read_clock(seconds);
    } while (!update_in_progress());
    while (update_in_progress()) {
    }
    check("the seconds change when UIP falls", read_clock(seconds) != before);
}

/* No interrupt enabled, and none that the PIC remembers from before. */
static void quiet_clock(void) {
    write_clock(clock_register_b, clock_24_hours);
    read_clock(clock_register_c);
    start_pic();
    unmask_irq(8);
    interrupts = 0;
    flags = 0;
}

static void check_interrupts(void) {
    quiet_clock();
    write_clock(clock_register_b, clock_24_hours | clock_periodic);
    enable_interrupts();
    while (interrupts < 50) {
    }
    disable_interrupts();
    check_equal("periodic: the flags", flags & (clock_interrupt | clock_periodic),
                clock_interrupt | clock_periodic);
    quiet_clock();
    for (uint8_t alarm = seconds + 1; alarm <= hours + 1; alarm = (uint8_t)(alarm + 2)) {
        write_clock(alarm, 0xc0); /* matches anything */
    }
    read_clock(clock_register_c);
    write_clock(clock_register_b, clock_24_hours | clock_update_ended | clock_alarm);
    while (interrupts == 0) {
        enable_interrupts();
        asm volatile("nop");
        disable_interrupts();
    }
    write_clock(clock_register_b, clock_24_hours);
    const uint8_t wanted = clock_interrupt | clock_update_ended | clock_alarm;
    check_equal("update and alarm: the flags", flags & wanted, wanted);
    check_equal("update and alarm: one interrupt", interrupts, 1);
    check_equal("C has been cleared", flags_then & wanted, 0);
}

/* Without a read of C there is one interrupt, however long the wait. */
static void leave_flags(struct frame* frame) {
    (void)frame;
    ++interrupts;
    end_of_interrupt(8);
}

static void check_line(void) {
    handlers[first_irq_vector + 8] = leave_flags;
    quiet_clock();
    write_clock(clock_register_b, clock_24_hours | clock_periodic);
    enable_interrupts();
    while (interrupts == 0) {
    }
    disable_interrupts();
    mask_irq(8);
    start_one_shot(10000);
    while (!timer_output()) {
    }
    unmask_irq(8);
    enable_interrupts();
    asm volatile("nop");
    disable_interrupts();
    check_equal("C unread: no further interrupt", interrupts, 1);
    check_equal("C has waited", read_clock(clock_register_c) & (clock_interrupt | clock_periodic),
                clock_interrupt | clock_periodic);
    write_clock(clock_register_b, clock_24_hours);
}

void guest(void) {
    load_descriptor_tables();
    quiet_timer();
    handlers[first_irq_vector + 8] = take;
    check_registers();
    check_time();
    check_update_in_progress();
    check_interrupts();
    check_line();
}
