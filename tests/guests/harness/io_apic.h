/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The I/O APIC's registers: load_page_tables, then start_apics.
 */
#pragma once

#include "apic.h"
#include "paging.h"
#include "pic.h"
#include "timer.h"

#include <previrt/annotate.h>
#include <stdint.h>

#define io_apic_place UINT64_C(0xfec00000)

enum {
    io_apic_select = 0x00,
    io_apic_window = 0x10,
    io_apic_id = 0,
    io_apic_version = 1,
    io_apic_entries = 0x10, /* two registers each */
    io_apic_pins = 24,
    io_apic_timer_pin = 2, /* the other ISA interrupts are at the pins of their numbers */
    io_apic_remote_request = 1 << 14,
    io_apic_level = 1 << 15,
};

/* Both APICs are mapped, the local one is on, and no interrupt is to come. */
static inline void start_apics(void) {
    map_apic();
    map_page(io_apic_place, io_apic_place, page_present | page_writable);
    quiet_timer();
    mask_all_interrupts();
    write_apic(apic_spurious_vector, apic_on | 0xff);
}

static inline uint32_t read_io_apic(unsigned number) {
    previrt_mmio_write32(PREVIRT_DEVICE_ANY, io_apic_place + io_apic_select, number);
    return previrt_mmio_read32(PREVIRT_DEVICE_ANY, io_apic_place + io_apic_window);
}

static inline void write_io_apic(unsigned number, uint32_t value) {
    previrt_mmio_write32(PREVIRT_DEVICE_ANY, io_apic_place + io_apic_select, number);
    previrt_mmio_write32(PREVIRT_DEVICE_ANY, io_apic_place + io_apic_window, value);
}

/* The pin's interrupt goes to the processor with this ID. */
static inline void set_io_apic_entry(unsigned pin, unsigned destination, uint32_t low) {
    write_io_apic(io_apic_entries + 2 * pin, apic_masked);
    write_io_apic(io_apic_entries + 2 * pin + 1, destination << 24);
    write_io_apic(io_apic_entries + 2 * pin, low);
}

static inline uint32_t io_apic_entry(unsigned pin) {
    return read_io_apic(io_apic_entries + 2 * pin);
}
