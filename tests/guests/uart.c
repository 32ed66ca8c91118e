/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 38
 *
 * The 16550A: which register is where, what keeps what was written, loopback, the FIFOs, and the interrupts
 * in IIR in the order of their priorities: line status, received data, empty transmitter.
 * Loopback ties the transmitter to the receiver and the modem outputs to the inputs, and nothing leaves the
 * chip; results are printed afterwards.
 *
 * Left out: changes of the modem lines, which QEMU does not tell in loopback, overrun of a full FIFO (how
 * many bytes fit differs with the shift register), and the trigger levels.
 */
#include "harness/uart.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/pic.h"
#include "harness/ports.h"
#include "harness/registers.h"
#include "harness/timer.h"

enum {
    nothing_pending = 0x01, /* IIR */
    transmitter_is_empty = 0x02,
    data_received = 0x04,
    line_error = 0x06,
    cause = 0x0f,
    fifos_enabled = 0xc0,
    clear_and_enable_fifos = 0x07,
    fifo_depth = 16,
    resting_outputs = 0x03, /* DTR, RTS */
};

static uint8_t results[64];
static unsigned count;

static void keep(uint8_t result) {
    results[count++ % sizeof results] = result;
}

static void check_kept(const char* const* what, const uint8_t* expected, unsigned number) {
    check_equal("as many results as expected", count, number);
    for (unsigned i = 0; i < number; ++i) {
        check_equal(what[i], results[i], expected[i]);
    }
    count = 0;
}

static void start_loopback(uint8_t fifo_control) {
    while (!(in8(uart_line_status) & uart_transmitter_empty)) {
    }
    out8(uart_fifo_control, fifo_control);
    out8(uart_modem_control, uart_loopback);
    in8(uart_modem_status);
    in8(uart_data);
    in8(uart_line_status);
}

static void end_loopback(void) {
    out8(uart_interrupt_enable, 0);
    out8(uart_modem_control, resting_outputs);
    out8(uart_fifo_control, 0);
}

/* What LSR said until the byte was out. Reading it clears its errors. */
static uint8_t transmit(uint8_t byte) {
    uint8_t status = 0;
    out8(uart_data, byte);
    while (!(status & uart_transmitter_empty)) {
        status |= in8(uart_line_status);
    }
    return status;
}

/* The same without a look at any register. */
static void transmit_unseen(uint8_t byte) {
    out8(uart_data, byte);
    start_one_shot(1000);
    while (!timer_output()) {
    }
}

static void check_registers(void) {
    out8(uart_scratch, 0x5a);
    check_equal("SCR", in8(uart_scratch), 0x5a);
    out8(uart_scratch, 0xa5);
    check_equal("SCR", in8(uart_scratch), 0xa5);
    while (!(in8(uart_line_status) & uart_transmitter_empty)) {
    }
    out8(uart_line_control, 0x1a);
    keep(in8(uart_line_control));
    out8(uart_line_control, uart_divisor_latch | uart_eight_bits);
    out8(uart_data, 0x34);
    out8(uart_interrupt_enable, 0x12);
    keep(in8(uart_data));
    keep(in8(uart_interrupt_enable));
    out8(uart_data, 1);
    out8(uart_interrupt_enable, 0);
    out8(uart_line_control, uart_eight_bits);
    keep(in8(uart_interrupt_enable));
    out8(uart_fifo_control, clear_and_enable_fifos);
    keep(in8(uart_interrupt_identification));
    out8(uart_fifo_control, 0);
    keep(in8(uart_interrupt_identification));
    keep(in8(uart_line_status));
    static const char* const what[] = {"LCR",         "DLL",        "DLM", "IER is not DLM", "IIR with FIFOs",
                                       "IIR without", "LSR at rest"};
    static const uint8_t expected[] = {0x1a, 0x34, 0x12, 0, fifos_enabled | nothing_pending, nothing_pending,
                                       0x60};
    check_kept(what, expected, sizeof expected);
}

static void check_modem(void) {
    start_loopback(0);
    for (uint8_t output = 1; output <= 8; output = (uint8_t)(output << 1)) {
        out8(uart_modem_control, uart_loopback | output);
        keep(in8(uart_modem_status) & 0xf0);
    }
    out8(uart_modem_control, 0xff);
    keep(in8(uart_modem_control));
    end_loopback();
    static const char* const what[] = {"DTR is DSR", "RTS is CTS", "OUT1 is RI", "OUT2 is DCD",
                                       "MCR has five bits"};
    static const uint8_t expected[] = {0x20, 0x10, 0x40, 0x80, 0x1f};
    check_kept(what, expected, sizeof expected);
}

static void check_data(void) {
    start_loopback(0);
    transmit(0xc3);
    keep(in8(uart_line_status));
    keep(in8(uart_data));
    keep(in8(uart_line_status));
    keep(transmit(0x11) & uart_overrun);
    keep(transmit(0x22) & uart_overrun);
    keep(in8(uart_line_status));
    keep(in8(uart_data));
    end_loopback();
    static const char* const what[] = {"LSR: a byte has come",  "it is the one that was sent",
                                       "LSR: it was taken",     "LSR: one byte is no overrun",
                                       "LSR: two are",          "LSR: it is told once",
                                       "the last byte is there"};
    static const uint8_t expected[] = {0x61, 0xc3, 0x60, 0, uart_overrun, 0x61, 0x22};
    check_kept(what, expected, sizeof expected);
}

static void check_fifo(void) {
    start_loopback(clear_and_enable_fifos);
    bool in_order = true;
    for (unsigned i = 0; i < fifo_depth; ++i) {
        transmit((uint8_t)(0xa0 + i));
    }
    for (unsigned i = 0; i < fifo_depth; ++i) {
        in_order = in_order && (in8(uart_line_status) & uart_data_ready) && in8(uart_data) == 0xa0 + i;
    }
    const uint8_t emptied = in8(uart_line_status);
    transmit(0x33);
    transmit(0x44);
    out8(uart_fifo_control, clear_and_enable_fifos);
    const uint8_t cleared = in8(uart_line_status);
    end_loopback();
    check("FIFO: sixteen bytes come in order", in_order);
    check_equal("FIFO: LSR when all are taken", emptied, 0x60);
    check_equal("FIFO: LSR when it is cleared", cleared, 0x60);
}

static void check_identification(void) {
    start_loopback(0);
    out8(uart_interrupt_enable, uart_receive_interrupt);
    transmit(0x55);
    keep(in8(uart_interrupt_identification) & cause);
    in8(uart_data);
    keep(in8(uart_interrupt_identification) & cause);
    out8(uart_interrupt_enable, uart_transmit_interrupt);
    keep(in8(uart_interrupt_identification) & cause);
    keep(in8(uart_interrupt_identification) & cause);
    transmit(0x66);
    keep(in8(uart_interrupt_identification) & cause);
    in8(uart_data);
    out8(uart_interrupt_enable, 0);
    transmit_unseen(0x77);
    transmit_unseen(0x88);
    out8(uart_interrupt_enable, uart_receive_interrupt | uart_transmit_interrupt | uart_line_interrupt);
    keep(in8(uart_interrupt_identification) & cause);
    in8(uart_line_status);
    keep(in8(uart_interrupt_identification) & cause);
    in8(uart_data);
    keep(in8(uart_interrupt_identification) & cause);
    keep(in8(uart_interrupt_identification) & cause);
    end_loopback();
    static const char* const what[] = {"IIR: data has come",
                                       "IIR: it was read",
                                       "IIR: the transmitter is empty, once that is asked for",
                                       "IIR: it was told",
                                       "IIR: it is empty again",
                                       "all at once: overrun first",
                                       "then data",
                                       "then the transmitter",
                                       "then nothing"};
    static const uint8_t expected[] = {data_received,   nothing_pending,      transmitter_is_empty,
                                       nothing_pending, transmitter_is_empty, line_error,
                                       data_received,   transmitter_is_empty, nothing_pending};
    check_kept(what, expected, sizeof expected);
}

static volatile unsigned interrupts;
static const char* volatile left;

/* Transmits a text by interrupts, as a driver does. */
static void send_next(struct frame* frame) {
    (void)frame;
    ++interrupts;
    if ((in8(uart_interrupt_identification) & cause) == transmitter_is_empty) {
        if (*left) {
            out8(uart_data, (uint8_t)*left++);
        } else {
            out8(uart_interrupt_enable, 0);
        }
    }
    end_of_interrupt(4);
}

static void check_interrupt_line(void) {
    static const char text[] = "this line is written by interrupts\n";
    while (!(in8(uart_line_status) & uart_transmitter_empty)) {
    }
    left = text;
    start_pic(); /* forgets what the checks before have requested */
    unmask_irq(4);
    out8(uart_modem_control, uart_interrupt_line | resting_outputs);
    out8(uart_interrupt_enable, uart_transmit_interrupt);
    while (interrupts < sizeof text) {
        asm volatile("sti\n hlt\n cli" : : : "memory");
    }
    out8(uart_modem_control, resting_outputs);
    check_equal("IRQ 4, once a byte and once at the end", interrupts, sizeof text);
}

void guest(void) {
    load_descriptor_tables();
    quiet_timer();
    handlers[first_irq_vector + 4] = send_next;
    check_registers();
    check_modem();
    check_data();
    check_fifo();
    check_identification();
    check_interrupt_line();
}
