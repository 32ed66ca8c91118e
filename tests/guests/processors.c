/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 19
 * processors: 4
 *
 * Several processors: each begins by INIT and SIPI in its own local APIC, takes messages to it alone, to a
 * logical destination, to all and to all others, and NMIs; locked instructions of all on one word lose
 * nothing; a store is seen by another in order; the time-stamp counter does not go back from one to another;
 * an interrupt of a device goes to any of them; one can be reset and started again.
 */
#include "harness/processors.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/io_apic.h"
#include "harness/paging.h"
#include "harness/pic.h"
#include "harness/registers.h"
#include "harness/timer.h"

enum { count = 4, message_vector = 0x51, timer_vector = 0x61, nmi_vector = 2, additions = 20000, turns = 50 };

enum work { rest, add, take_turns };

static volatile enum work wanted;
static volatile unsigned finished;
static volatile unsigned messages[count], nmis[count], timer_interrupts[count], begun[count];
static volatile uint64_t sum;
static volatile unsigned turn;
static volatile uint64_t last_time;
static volatile unsigned backward_steps;

static uint64_t read_time_stamp(void) {
    uint32_t low;
    uint32_t high;
    asm volatile("lfence\n rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

static void take_message(struct frame* frame) {
    (void)frame;
    ++messages[this_processor()];
    write_apic(apic_end_of_interrupt, 0);
}

static void take_timer(struct frame* frame) {
    (void)frame;
    ++timer_interrupts[this_processor()];
    write_apic(apic_end_of_interrupt, 0);
}

static void take_nmi(struct frame* frame) {
    (void)frame;
    ++nmis[this_processor()];
}

static void do_additions(void) {
    for (unsigned i = 0; i < additions; ++i) {
        __atomic_fetch_add(&sum, 1, __ATOMIC_SEQ_CST);
    }
}

/* Each in its turn compares the counter with that of the one before. */
static void do_turns(unsigned number) {
    for (unsigned i = 0; i < turns; ++i) {
        while (turn % count != number) {
            asm volatile("pause" : : : "memory");
        }
        const uint64_t now = read_time_stamp();
        if (now < last_time) {
            ++backward_steps;
        }
        last_time = now;
        turn = turn + 1;
    }
}

static void work(unsigned number) {
    write_apic(apic_logical_destination, 0x01000000U << number);
    write_apic(apic_destination_format, UINT32_MAX);
    ++begun[number];
    enum work done = rest;
    for (;;) {
        asm volatile("sti\n hlt\n cli" : : : "memory");
        if (wanted == done) {
            continue;
        }
        done = wanted;
        if (done == add) {
            do_additions();
        } else if (done == take_turns) {
            do_turns(number);
        }
        __atomic_fetch_add(&finished, 1, __ATOMIC_SEQ_CST);
    }
}

static void wait_for(const volatile unsigned* what, unsigned value) {
    for (unsigned i = 0; i < 200000000 && *what < value; ++i) {
        asm volatile("pause" : : : "memory");
    }
}

static void let_others(enum work what) {
    finished = 0;
    wanted = what;
    send_message(0, apic_to_others | message_vector);
}

static void wait_for_others(void) {
    wait_for(&finished, count - 1);
}

static void let_in(void) {
    asm volatile("sti\n nop\n nop\n cli" : : : "memory");
}

/* Bits of the processors that got one. */
static unsigned receivers(volatile unsigned* of, unsigned expected) {
    unsigned bits = 0;
    for (unsigned number = 0; number < count; ++number) {
        if ((expected >> number & 1) != 0) {
            wait_for(&of[number], 1);
        }
    }
    for (volatile unsigned i = 0; i < 100000; ++i) {
    }
    for (unsigned number = 0; number < count; ++number) {
        bits |= (of[number] != 0 ? 1U : 0U) << number;
        of[number] = 0;
    }
    return bits;
}

static unsigned after_message(unsigned processor, uint32_t command, unsigned expected) {
    send_message(processor, command | message_vector);
    let_in();
    return receivers(messages, expected);
}

static void check_messages(void) {
    check_equal("to processor 1", after_message(1, 0, 2), 2);
    check_equal("to processor 3", after_message(3, 0, 8), 8);
    check_equal("to itself by its number", after_message(0, 0, 1), 1);
    check_equal("to itself by the shorthand", after_message(0, apic_to_self, 1), 1);
    check_equal("to all others", after_message(0, apic_to_others, 14), 14);
    check_equal("to all", after_message(0, apic_to_all, 15), 15);
    check_equal("to all by the physical broadcast", after_message(0xff, 0, 15), 15);
    check_equal("to two, logical", after_message(0x6, apic_logical, 6), 6);
    check_equal("to one that is not there", after_message(9, 0, 0), 0);
    send_message(0, apic_to_others | apic_nmi);
    check_equal("NMIs to all others", receivers(nmis, 14), 14);
}

static void check_device(void) {
    for (unsigned number = 0; number < count; ++number) {
        start_one_shot(60000);
        set_io_apic_entry(io_apic_timer_pin, number, timer_vector);
        start_one_shot(100);
        while (!timer_output()) {
        }
        let_in();
        check_equal("the timer's interrupt, to each processor", receivers(timer_interrupts, 1U << number),
                    1U << number);
        set_io_apic_entry(io_apic_timer_pin, 0, apic_masked);
    }
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    start_apics();
    write_apic(apic_logical_destination, 0x01000000);
    write_apic(apic_destination_format, UINT32_MAX);
    handlers[message_vector] = take_message;
    handlers[timer_vector] = take_timer;
    handlers[nmi_vector] = take_nmi;

    start_processors(count, work);
    check_equal("others have begun", processors_begun, count - 1);
    check_messages();
    check_device();

    let_others(add);
    do_additions();
    wait_for_others();
    check_equal("locked additions of all", sum, count * additions);

    let_others(take_turns);
    do_turns(0);
    wait_for_others();
    check_equal("the time-stamp counter never goes back", backward_steps, 0);

    wanted = rest;
    restart_processor(2);
    wait_for(&begun[2], 2);
    check_equal("processor 2 has begun again", begun[2], 2);
    receivers(messages, 0);
    check_equal("and takes messages", after_message(2, 0, 4), 4);
}
