/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 23
 *
 * The 8254 timer. Counter 0 makes IRQ 0; counter 2 has its gate and its output in port 0x61 and is watched
 * here. Counts fall with time, so they are compared with each other and never with a number of instructions:
 * an output that is still low shows that mode 0 has not come round.
 *
 * Left out: counting held by the gate, which QEMU does not do, and modes 1 and 5, which need the gate.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/pic.h"
#include "harness/ports.h"
#include "harness/registers.h"
#include "harness/timer.h"

enum {
    counter2 = 0x42,
    latch2 = 0x80,
    read_back2 = 0xc8, /* count and status */
    read_back_status2 = 0xe8,
    output_bit = 0x80, /* in the status */
    control_port = 0x61,
    gate2 = 0x01,
    refresh = 0x10,
    output2 = 0x20,
    rounding = 8, /* periods: two counters need not count at the same moment */
};

static void start_counter2(uint8_t control, uint16_t count) {
    out8(timer_command, control);
    out8(counter2, (uint8_t)count);
    out8(counter2, (uint8_t)(count >> 8));
}

static uint16_t read_count(void) {
    const uint8_t low = in8(counter2);
    return (uint16_t)(in8(counter2) << 8 | low);
}

static uint16_t latched_count(void) {
    out8(timer_command, latch2);
    return read_count();
}

static uint8_t status2(void) {
    out8(timer_command, read_back_status2);
    return in8(counter2);
}

static void check_status(void) {
    static const struct {
        const char* what;
        uint8_t control, expected;
    } modes[] = {{"mode 0", 0xb0, 0x30},
                 {"mode 2", 0xb4, 0x34},
                 {"mode 3", 0xb6, 0x36},
                 {"mode 4", 0xb8, 0x38},
                 {"mode 2, in BCD", 0xb5, 0x35}};
    for (unsigned i = 0; i < sizeof modes / sizeof modes[0]; ++i) {
        start_counter2(modes[i].control, 0x9000);
        check_equal(modes[i].what, status2() & 0x3f, modes[i].expected);
    }
    out8(timer_command, 0x90);
    out8(counter2, 0xff);
    check_equal("low byte only", status2() & 0x3f, 0x10);
    out8(timer_command, 0xa0);
    out8(counter2, 0xff);
    check_equal("high byte only", status2() & 0x3f, 0x20);
}

/* Each is repeated until all of it has happened before the terminal count. */
static void check_falling(void) {
    const uint16_t pause = 1000;
    uint16_t first;
    uint16_t second;
    do {
        start_counter2(0xb0, 0xffff);
        first = latched_count();
        start_one_shot(pause);
        while (!timer_output()) {
        }
        second = latched_count();
    } while (status2() & output_bit);
    check("mode 0: counts fall with time", second <= first && first - second >= pause - rounding);

    do {
        start_counter2(0xb0, 0xffff);
        out8(timer_command, latch2);
        start_one_shot(pause);
        while (!timer_output()) {
        }
        out8(timer_command, latch2); /* counts for nothing: the first has not been read */
        first = read_count();
        second = latched_count();
    } while (status2() & output_bit);
    check("a latched count stands still until it is read",
          second <= first && first - second >= pause - rounding);

    uint8_t status;
    do {
        start_counter2(0xb0, 0xffff);
        out8(timer_command, read_back2);
        status = in8(counter2);
        first = read_count();
        second = latched_count();
    } while (status2() & output_bit);
    check_equal("read-back: status first", status & 0xbf, 0x30);
    check("and then the count", first >= second);
}

static void check_periods(void) {
    static const struct {
        const char* what;
        uint8_t control;
        uint8_t step;
    } modes[] = {{"mode 2: counts stay within the period", 0xb4, 1},
                 {"mode 3: counts stay within the period and fall by two", 0xb6, 2}};
    const uint16_t period = 1000;
    for (unsigned i = 0; i < 2; ++i) {
        bool good = true;
        bool rises = false;
        uint16_t last = 0;
        start_counter2(modes[i].control, period);
        for (unsigned reads = 0; reads < 100 || !rises; ++reads) {
            const uint16_t count = latched_count();
            good = good && count <= period && count % modes[i].step == 0;
            rises = rises || count > last;
            last = count;
        }
        check(modes[i].what, good);
    }
}

static void check_output(void) {
    start_counter2(0xb0, 0xffff);
    check_equal("mode 0: the output is low", in8(control_port) & output2, 0);
    start_counter2(0xb0, 1000);
    while (!(in8(control_port) & output2)) {
    }
    check_equal("and high at the terminal count", status2() & output_bit, output_bit);
    start_counter2(0xb6, 20000);
    unsigned edges = 0;
    for (uint8_t last = output2; edges < 4;) {
        const uint8_t now = in8(control_port) & output2;
        edges += now != last;
        last = now;
    }
    check("mode 3: the output swings", true);
    for (uint8_t last = in8(control_port) & refresh; edges < 8;) {
        const uint8_t now = in8(control_port) & refresh;
        edges += now != last;
        last = now;
    }
    check("the refresh bit of port 0x61 swings", true);
    out8(control_port, 0);
    check_equal("port 0x61: gate and speaker are off", in8(control_port) & 3, 0);
    out8(control_port, 3);
    check_equal("port 0x61: gate and speaker are on", in8(control_port) & 3, 3);
    out8(control_port, gate2);
}

/* Counter 2 is started first and read last. */
static void check_against_counter0(void) {
    const uint16_t shot = 20000;
    bool good = true;
    quiet_timer();
    for (unsigned i = 0; i < 3; ++i) {
        start_counter2(0xb0, 0xffff);
        start_one_shot(shot);
        while (!(interrupts_requested() & 1)) {
        }
        const uint16_t left = latched_count();
        good = good && ((status2() & output_bit) || 0xffff - left >= shot - rounding);
        start_pic();
    }
    check("counter 0 takes its time, by counter 2", good);
}

static volatile unsigned ticks;

static void tick(struct frame* frame) {
    (void)frame;
    ++ticks;
    end_of_interrupt(0);
}

static void check_ticks(const char* what, uint8_t control) {
    const uint16_t period = 2000;
    ticks = 0;
    out8(timer_command, control);
    out8(timer_counter0, period & 0xff);
    out8(timer_counter0, period >> 8);
    enable_interrupts();
    while (ticks < 50) {
    }
    disable_interrupts();
    check(what, true);
}

void guest(void) {
    load_descriptor_tables();
    quiet_timer();
    out8(control_port, gate2);
    check_status();
    check_falling();
    check_periods();
    check_output();
    check_against_counter0();
    handlers[first_irq_vector] = tick;
    unmask_irq(0);
    check_ticks("mode 2: IRQ 0, many times", 0x34);
    check_ticks("mode 3: IRQ 0, many times", 0x36);
    request_timer_interrupt();
    ticks = 0;
    enable_interrupts();
    asm volatile("nop");
    disable_interrupts();
    check_equal("mode 0: IRQ 0, once", ticks, 1);
}
