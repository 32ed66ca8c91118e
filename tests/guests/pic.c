/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 54
 *
 * The two 8259A interrupt controllers. A request is latched in IRR, also while it is masked; on
 * acknowledgement it moves to ISR, where it holds off its own and lower priorities until its end (EOI). The
 * slave's requests go through the master's line 2. Priorities can be rotated, the end can be automatic, and a
 * poll takes the place of an acknowledgement. The sources: IRQ 0 from the timer, IRQ 4 from the UART's empty
 * transmitter, IRQ 8 from the clock.
 *
 * Left out: spurious requests, which need a line to fall in the moment of its acknowledgement.
 */
#include "harness/pic.h"
#include "harness/check.h"
#include "harness/clock.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/ports.h"
#include "harness/registers.h"
#include "harness/timer.h"
#include "harness/uart.h"

enum {
    specific_end = 0x60,
    lowest_priority = 0xc0,
    special_mask = 0x68,
    normal_mask = 0x48,
    poll = 0x0c,
    other_vectors = 0x60,
};

static unsigned order[4];
static unsigned taken;
static uint16_t in_service;
static bool nest;
static bool end_before_return = true;

static void take(struct frame* frame) {
    const unsigned irq = (unsigned)frame->vector % 16;
    order[taken++ % 4] = irq;
    in_service = interrupts_in_service();
    if (irq == 4) {
        in8(uart_interrupt_identification);
        out8(uart_interrupt_enable, 0);
    }
    if (nest) {
        enable_interrupts();
        asm volatile("nop");
        disable_interrupts();
    }
    if (end_before_return) {
        end_of_interrupt(irq);
    }
}

static void let_in(void) {
    taken = 0;
    asm volatile("sti\n nop\n nop\n cli" : : : "memory");
}

static void request_uart_interrupt(void) {
    while (!(in8(uart_line_status) & uart_transmitter_empty)) {
    }
    out8(uart_modem_control, uart_interrupt_line | 3);
    out8(uart_interrupt_enable, uart_transmit_interrupt);
    while (!(interrupts_requested() & 1 << 4)) {
    }
}

/* Nothing can be printed while the UART is an interrupt source. */
static void check_taken(const char* what, unsigned count, unsigned first, unsigned second) {
    check_equal(what, taken, count);
    if (count > 0) {
        check_equal("the first", order[0], first);
    }
    if (count > 1) {
        check_equal("the second", order[1], second);
    }
}

static void check_registers(void) {
    out8(pic_master_data, 0xa5);
    out8(pic_slave_data, 0x5a);
    check_equal("master's mask", in8(pic_master_data), 0xa5);
    check_equal("slave's mask", in8(pic_slave_data), 0x5a);
    mask_all_interrupts();
    request_timer_interrupt();
    check_equal("masked: requested", interrupts_requested(), 1);
    check_equal("masked: not in service", interrupts_in_service(), 0);
    let_in();
    check_taken("masked: not taken", 0, 0, 0);
    unmask_irq(0);
    let_in();
    check_taken("unmasked: taken", 1, 0, 0);
    check_equal("in service meanwhile", in_service, 1);
    check_equal("no longer afterwards", interrupts_in_service(), 0);
    check_equal("nor requested", interrupts_requested(), 0);
}

static void check_end(void) {
    end_before_return = false;
    request_timer_interrupt();
    let_in();
    check_taken("without an end: taken", 1, 0, 0);
    check_equal("and still in service", interrupts_in_service(), 1);
    request_timer_interrupt();
    let_in();
    check_taken("a second one: not taken", 0, 0, 0);
    check_equal("but requested", interrupts_requested(), 1);
    out8(pic_master_command, specific_end | 0);
    let_in();
    check_taken("after a specific end: taken", 1, 0, 0);
    out8(pic_master_command, specific_end | 1);
    check_equal("the end of another leaves it in service", interrupts_in_service(), 1);
    out8(pic_master_command, specific_end | 0);
    check_equal("its own ends it", interrupts_in_service(), 0);
    end_before_return = true;
}

static void check_priority(void) {
    unmask_irq(4);
    request_timer_interrupt();
    request_uart_interrupt();
    let_in();
    check_taken("IRQ 0 and 4", 2, 0, 4);
    out8(pic_master_command, lowest_priority | 3);
    request_timer_interrupt();
    request_uart_interrupt();
    let_in();
    check_taken("with IRQ 4 highest", 2, 4, 0);
    out8(pic_master_command, lowest_priority | 7);

    nest = true;
    request_timer_interrupt();
    request_uart_interrupt();
    let_in();
    check_taken("nested: IRQ 4 waits for the end of 0", 2, 0, 4);
    check_equal("IRQ 4 alone was in service then", in_service, 1 << 4);
    mask_irq(0);
    request_timer_interrupt();
    request_uart_interrupt();
    taken = 0;
    nest = false;
    end_before_return = false;
    asm volatile("sti\n nop\n nop\n cli" : : : "memory");
    unmask_irq(0);
    asm volatile("sti\n nop\n nop\n cli" : : : "memory");
    out8(pic_master_command, specific_end | 0);
    out8(pic_master_command, specific_end | 4);
    end_before_return = true;
    check_taken("IRQ 0 is taken while 4 is in service", 2, 4, 0);
    check_equal("and both are in service", in_service, 1 << 4 | 1);
}

/* In special mask mode a line that is masked while it is in service holds nothing off. The mask is written
   once more behind the mode: QEMU looks at its requests again only then. */
static void check_special_mask(void) {
    end_before_return = false;
    request_timer_interrupt();
    let_in();
    mask_irq(0);
    request_uart_interrupt();
    let_in();
    const unsigned taken_before = taken;
    out8(pic_master_command, special_mask);
    mask_irq(0);
    let_in();
    out8(pic_master_command, normal_mask);
    out8(pic_master_command, specific_end | 4);
    out8(pic_master_command, specific_end | 0);
    unmask_irq(0);
    end_before_return = true;
    check_equal("IRQ 4 is held off by 0", taken_before, 0);
    check_taken("in special mask mode it is taken", 1, 4, 0);
    check_equal("none is in service", interrupts_in_service(), 0);
}

static void check_poll(void) {
    request_timer_interrupt();
    out8(pic_master_command, poll);
    check_equal("poll: there is one, of line 0", in8(pic_master_command), 0x80);
    check_equal("it is in service", interrupts_in_service(), 1);
    end_of_interrupt(0);
    out8(pic_master_command, poll);
    check_equal("poll: there is none", in8(pic_master_command) & 0x80, 0);
    let_in();
    check_taken("and none is taken", 0, 0, 0);
}

static void check_cascade(void) {
    handlers[first_irq_vector + 8] = take;
    unmask_irq(8);
    write_clock(clock_register_a, clock_rate_1024);
    read_clock(clock_register_c);
    write_clock(clock_register_b, clock_24_hours | clock_periodic);
    while (!(interrupts_requested() & 1 << 8)) {
    }
    check_equal("slave: requested at both", interrupts_requested(), 1 << 8 | 1 << 2);
    let_in();
    check_taken("slave: taken", 1, 8, 0);
    check_equal("in service at both", in_service, 1 << 8 | 1 << 2);
    check_equal("no longer afterwards", interrupts_in_service(), 0);
    write_clock(clock_register_b, clock_24_hours);
    read_clock(clock_register_c);
    mask_irq(8);
}

static void start_master(uint8_t vectors, uint8_t mode) {
    out8(pic_master_command, 0x11);
    out8(pic_master_data, vectors);
    out8(pic_master_data, 1 << 2);
    out8(pic_master_data, mode);
    out8(pic_master_data, 0xfe);
}

static void check_initialisation(void) {
    handlers[other_vectors] = take;
    start_master(other_vectors, 1);
    request_timer_interrupt();
    let_in();
    check_taken("at another vector", 1, 0, 0);
    end_before_return = false;
    start_master(other_vectors, 3);
    request_timer_interrupt();
    let_in();
    check_taken("with automatic end", 1, 0, 0);
    check_equal("it is not in service even in the handler", in_service, 0);
    request_timer_interrupt();
    let_in();
    check_taken("and the next is taken", 1, 0, 0);
    request_timer_interrupt();
    start_master(other_vectors, 1);
    check_equal("initialisation forgets requests", interrupts_requested(), 0);
}

void guest(void) {
    load_descriptor_tables();
    quiet_timer();
    handlers[first_irq_vector] = take;
    handlers[first_irq_vector + 4] = take;
    check_registers();
    check_end();
    check_priority();
    check_special_mask();
    check_poll();
    check_cascade();
    check_initialisation();
}
