/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 8
 *
 * A non-maskable interrupt, which the processor sends to itself, or the timer by the I/O APIC: the interrupt
 * flag does not hold it off, it wakes hlt, and from its delivery to the next iret a further one waits. Only
 * one can wait.
 */
#include "harness/apic.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/io_apic.h"
#include "harness/paging.h"
#include "harness/pic.h"
#include "harness/registers.h"
#include "harness/timer.h"

enum { vector_nmi = 2, patience = 1000000 };

static volatile unsigned nmis, nested, seen_inside;
static unsigned sends; /* further ones from the handler */
static uint64_t flags_in_handler;

static void send(void) {
    write_apic(apic_command_low, apic_to_self | apic_nmi);
}

static void take(struct frame* frame) {
    static unsigned depth;
    (void)frame;
    ++depth;
    nested += depth > 1;
    ++nmis;
    flags_in_handler = read_flags();
    const unsigned before = nmis;
    for (; sends != 0; --sends) {
        send();
    }
    for (volatile unsigned i = 0; i < 10000; ++i) {
    }
    seen_inside += nmis - before;
    --depth;
}

static unsigned count_after(unsigned expected) {
    for (unsigned i = 0; i < patience && nmis < expected; ++i) {
        asm volatile("pause" : : : "memory");
    }
    return nmis;
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    start_apics();
    handlers[vector_nmi] = take;

    send();
    check_equal("interrupts disabled: it comes", count_after(1), 1);
    check_equal("its handler has them disabled", flags_in_handler & flag_interrupt, 0);
    asm volatile("sti" : : : "memory");
    send();
    check_equal("interrupts enabled: it comes", count_after(2), 2);
    asm volatile("cli" : : : "memory");

    nmis = 0;
    sends = 3;
    send();
    check_equal("three in the handler: one more", count_after(2), 2);
    check_equal("none inside it", nested, 0);
    check_equal("it waited for iret", seen_inside, 0);
    nmis = 0;
    check_equal("no further one waits", count_after(1), 0);

    nmis = 0;
    set_io_apic_entry(io_apic_timer_pin, read_apic(apic_id) >> 24, apic_nmi);
    start_periodic(20000); /* the first one may come before hlt */
    asm volatile("hlt" : : : "memory");
    set_io_apic_entry(io_apic_timer_pin, 0, apic_masked);
    check("it wakes hlt, interrupts disabled", nmis >= 1);
}
