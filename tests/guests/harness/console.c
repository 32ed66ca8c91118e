/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The UART of COM1, polled, and the end of a guest by the keyboard controller's reset line.
 */
#include "console.h"

#include "ports.h"
#include "uart.h"

#include <stdarg.h>
#include <stdbool.h>

enum { keyboard_command = 0x64, pulse_reset = 0xfe };

void start_console(void) {
    out8(uart_interrupt_enable, 0);
    out8(uart_line_control, uart_divisor_latch | uart_eight_bits);
    out8(uart_data, 1);
    out8(uart_interrupt_enable, 0);
    out8(uart_line_control, uart_eight_bits);
    out8(uart_fifo_control, 0);
    out8(uart_modem_control, 0x03);
}

void print_character(char character) {
    while (!(in8(uart_line_status) & uart_holding_empty)) {
    }
    out8(uart_data, (uint8_t)character);
}

static void print_string(const char* string) {
    while (*string) {
        print_character(*string++);
    }
}

static void print_number(uint64_t number, unsigned base) {
    char digits[24];
    unsigned count = 0;
    do {
        digits[count++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number);
    while (count) {
        print_character(digits[--count]);
    }
}

void print(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    for (; *format; ++format) {
        if (*format != '%') {
            print_character(*format);
            continue;
        }
        ++format;
        const bool is_long = *format == 'l';
        format += is_long;
        switch (*format) {
        case 's':
            print_string(va_arg(arguments, const char*));
            break;
        case 'c':
            print_character((char)va_arg(arguments, int));
            break;
        default:
            print_number(is_long ? va_arg(arguments, unsigned long) : va_arg(arguments, unsigned),
                         *format == 'x' ? 16 : 10);
        }
    }
    va_end(arguments);
}

_Noreturn static void reset(void) {
    while (!(in8(uart_line_status) & uart_transmitter_empty)) {
    }
    out8(keyboard_command, pulse_reset);
    for (;;) {
        asm volatile("cli\n hlt");
    }
}

void end_guest(void) {
    print("guest: end\n");
    reset();
}

void abandon_guest(void) {
    print("guest: abandoned\n");
    reset();
}
