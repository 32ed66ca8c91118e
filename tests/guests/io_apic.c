/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 26
 *
 * The I/O APIC: its registers; edges of the timer at pin 2 and of the clock at pin 8; a level of the UART at
 * pin 4, which comes again after each end of its interrupt until the line falls, and is level triggered in
 * the local APIC's TMR. An edge is lost while its pin is masked, a level is not. Destinations are physical or
 * logical. A pin can send an NMI. The 8259s are masked all the time.
 */
#include "harness/io_apic.h"
#include "harness/apic.h"
#include "harness/check.h"
#include "harness/clock.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/pic.h"
#include "harness/ports.h"
#include "harness/registers.h"
#include "harness/timer.h"
#include "harness/uart.h"

enum {
    timer_vector = 0x41,
    clock_vector = 0x51,
    uart_vector = 0x61,
    vector_nmi = 2,
    clock_irq = 8,
    uart_irq = 4
};

static volatile unsigned timer_interrupts, clock_interrupts, uart_interrupts, nmis;
static unsigned falls_after; /* as many interrupts of the UART */
static uint32_t entry_in_handler;
static bool is_level_in_handler;
static unsigned processor;

static void take_timer(struct frame* frame) {
    (void)frame;
    ++timer_interrupts;
    write_apic(apic_end_of_interrupt, 0);
}

static void take_clock(struct frame* frame) {
    (void)frame;
    ++clock_interrupts;
    read_clock(clock_register_c);
    write_apic(apic_end_of_interrupt, 0);
}

static void take_uart(struct frame* frame) {
    (void)frame;
    ++uart_interrupts;
    entry_in_handler = io_apic_entry(uart_irq);
    is_level_in_handler = apic_vector_is_set(apic_trigger_mode, uart_vector);
    if (uart_interrupts == falls_after) {
        out8(uart_interrupt_enable, 0);
    }
    write_apic(apic_end_of_interrupt, 0);
}

static void take_nmi(struct frame* frame) {
    (void)frame;
    ++nmis;
}

static void let_in(void) {
    asm volatile("sti\n nop\n nop\n nop\n nop\n cli" : : : "memory");
}

static void wait_for(const volatile unsigned* count, unsigned wanted) {
    while (*count < wanted) {
        asm volatile("sti\n hlt\n cli" : : : "memory");
    }
}

static void check_registers(void) {
    check_equal("24 pins", read_io_apic(io_apic_version) >> 16 & 0xff, io_apic_pins - 1);
    write_io_apic(io_apic_id, 0x05000000);
    check_equal("ID", read_io_apic(io_apic_id), 0x05000000);
    write_io_apic(io_apic_id, 0);
    set_io_apic_entry(20, 0xa5, apic_masked | io_apic_level | apic_logical | 0x77);
    check_equal("an entry, lower half", io_apic_entry(20), apic_masked | io_apic_level | apic_logical | 0x77);
    check_equal("upper half", read_io_apic(io_apic_entries + 2 * 20 + 1), 0xa5000000);
    set_io_apic_entry(20, 0, apic_masked);
}

static void check_edges(void) {
    start_periodic(5000);
    set_io_apic_entry(io_apic_timer_pin, processor, timer_vector);
    wait_for(&timer_interrupts, 5);
    check("the timer at pin 2", timer_interrupts >= 5);
    check("edge triggered", !apic_vector_is_set(apic_trigger_mode, timer_vector));
    check_equal("no request remains", io_apic_entry(io_apic_timer_pin) & io_apic_remote_request, 0);
    set_io_apic_entry(io_apic_timer_pin, processor, apic_masked | timer_vector);
    quiet_timer();
    mask_all_interrupts();
    let_in();
    timer_interrupts = 0;
    start_one_shot(100);
    while (!timer_output()) {
    }
    set_io_apic_entry(io_apic_timer_pin, processor, timer_vector);
    let_in();
    check_equal("an edge while masked is lost", timer_interrupts, 0);
    start_one_shot(100);
    wait_for(&timer_interrupts, 1);
    check_equal("the next one comes", timer_interrupts, 1);
    set_io_apic_entry(io_apic_timer_pin, processor, apic_masked);

    write_clock(clock_register_a, clock_rate_1024);
    write_clock(clock_register_b, clock_24_hours);
    read_clock(clock_register_c);
    set_io_apic_entry(clock_irq, processor, clock_vector);
    write_clock(clock_register_b, clock_24_hours | clock_periodic);
    wait_for(&clock_interrupts, 3);
    check("the clock at pin 8", clock_interrupts >= 3);
    write_clock(clock_register_b, clock_24_hours);
    set_io_apic_entry(clock_irq, processor, apic_masked);
    read_clock(clock_register_c);
    let_in();
}

static void raise_uart(unsigned interrupts) {
    uart_interrupts = 0;
    falls_after = interrupts;
    while (!(in8(uart_line_status) & uart_transmitter_empty)) {
    }
    out8(uart_modem_control, uart_interrupt_line);
    out8(uart_interrupt_enable, uart_transmit_interrupt);
}

static void check_level(void) {
    set_io_apic_entry(uart_irq, processor, io_apic_level | uart_vector);
    raise_uart(4);
    wait_for(&uart_interrupts, 4);
    let_in();
    const unsigned came = uart_interrupts;
    const uint32_t then = entry_in_handler;
    const bool was_level = is_level_in_handler;
    check_equal("a level comes again until it falls", came, 4);
    check("the entry has its request in the handler", then & io_apic_remote_request);
    check("TMR: level triggered", was_level);
    check_equal("behind the end it has none", io_apic_entry(uart_irq) & io_apic_remote_request, 0);

    set_io_apic_entry(uart_irq, processor, apic_masked | io_apic_level | uart_vector);
    raise_uart(1);
    let_in();
    const unsigned masked = uart_interrupts;
    set_io_apic_entry(uart_irq, processor, io_apic_level | uart_vector);
    wait_for(&uart_interrupts, 1);
    check_equal("masked: none", masked, 0);
    check_equal("a level is not lost", uart_interrupts, 1);

    /* Linux ends an interrupt of an old chip by making its pin edge triggered for a moment. */
    raise_uart(0);
    asm volatile("nop" : : : "memory");
    const uint32_t asserted = io_apic_entry(uart_irq);
    out8(uart_interrupt_enable, 0);
    write_io_apic(io_apic_entries + 2 * uart_irq, apic_masked | uart_vector);
    const uint32_t edge = io_apic_entry(uart_irq);
    falls_after = 1;
    let_in();
    check("requested", asserted & io_apic_remote_request);
    check_equal("edge triggered for a moment: ended", edge & io_apic_remote_request, 0);
    check_equal("its interrupt comes once", uart_interrupts, 1);
    set_io_apic_entry(uart_irq, processor, apic_masked);
}

/* Two, if the machine was held up in between. */
static void send_edge(unsigned destination, uint32_t low) {
    timer_interrupts = 0;
    nmis = 0;
    start_one_shot(60000);
    set_io_apic_entry(io_apic_timer_pin, destination, low);
    start_one_shot(100);
    while (!timer_output()) {
    }
    let_in();
    set_io_apic_entry(io_apic_timer_pin, 0, apic_masked);
}

static void check_destinations(void) {
    send_edge(processor, timer_vector);
    check("to this processor", timer_interrupts != 0);
    send_edge(processor + 1, timer_vector);
    check_equal("to another one", timer_interrupts, 0);
    send_edge(0xff, timer_vector);
    check("to all", timer_interrupts != 0);
    write_apic(apic_destination_format, UINT32_MAX);
    write_apic(apic_logical_destination, 0x04000000);
    send_edge(0x06, apic_logical | timer_vector);
    check("logical", timer_interrupts != 0);
    send_edge(0x03, apic_logical | timer_vector);
    check_equal("to another one's logical destination", timer_interrupts, 0);
    send_edge(processor, apic_nmi);
    check("an NMI", nmis != 0);
    check_equal("and no interrupt", timer_interrupts, 0);
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    start_apics();
    processor = read_apic(apic_id) >> 24;
    handlers[timer_vector] = take_timer;
    handlers[clock_vector] = take_clock;
    handlers[uart_vector] = take_uart;
    handlers[vector_nmi] = take_nmi;
    check_registers();
    check_edges();
    check_level();
    check_destinations();
}
