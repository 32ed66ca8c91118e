/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory accesses that may fault. Each is one instruction.
 */
#pragma once

#include "exceptions.h"

static inline struct exception load(uintptr_t address) {
    return exception_of("mov (%[address]), %%al", [address] "r"(address) : "rax", "memory");
}

static inline struct exception store(uintptr_t address, uint8_t value) {
    return exception_of("mov %[value], (%[address])", [address] "r"(address), [value] "q"(value) : "memory");
}

/* Calls code at this address, which has to return. A fault of the fetch has the address as its RIP. */
static inline struct exception execute(uintptr_t address) {
    return exception_of("call *%[address]", [address] "r"(address) : "rax", "memory", "cc");
}

static inline uint8_t read_byte(uintptr_t address) {
    return *(volatile uint8_t*)address;
}

static inline void write_byte(uintptr_t address, uint8_t value) {
    *(volatile uint8_t*)address = value;
}
