/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

static inline uint8_t in8(uint16_t port) {
    uint8_t value;
    asm volatile("inb %[port], %[value]" : [value] "=a"(value) : [port] "d"(port));
    return value;
}

static inline void out8(uint16_t port, uint8_t value) {
    asm volatile("outb %[value], %[port]" : : [value] "a"(value), [port] "d"(port));
}
