/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Registers of the 16550A at COM1.
 */
#pragma once

enum {
    uart_data = 0x3f8,
    uart_interrupt_enable = 0x3f9,
    uart_interrupt_identification = 0x3fa,
    uart_fifo_control = 0x3fa,
    uart_line_control = 0x3fb,
    uart_modem_control = 0x3fc,
    uart_line_status = 0x3fd,
    uart_modem_status = 0x3fe,
    uart_scratch = 0x3ff,
};

enum {
    uart_divisor_latch = 0x80, /* LCR */
    uart_eight_bits = 0x03,
    uart_data_ready = 0x01, /* LSR */
    uart_overrun = 0x02,
    uart_holding_empty = 0x20,
    uart_transmitter_empty = 0x40,
    uart_receive_interrupt = 0x01, /* IER */
    uart_transmit_interrupt = 0x02,
    uart_line_interrupt = 0x04,
    uart_interrupt_line = 0x08, /* MCR: OUT2, which a PC puts between the UART and its IRQ line */
    uart_loopback = 0x10,
};
