/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The local APIC's registers, one page: load_page_tables, then map_apic.
 */
#pragma once

#include "paging.h"

#include <previrt/annotate.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    msr_apic_base = 0x1b,
    msr_deadline = 0x6e0,
    apic_base_boot_processor = 1 << 8,
    apic_base_enabled = 1 << 11,
};

#define apic_place UINT64_C(0xfee00000)

enum {
    apic_id = 0x20,
    apic_version = 0x30,
    apic_task_priority = 0x80,
    apic_processor_priority = 0xa0,
    apic_end_of_interrupt = 0xb0,
    apic_logical_destination = 0xd0,
    apic_destination_format = 0xe0,
    apic_spurious_vector = 0xf0,
    apic_in_service = 0x100,
    apic_trigger_mode = 0x180,
    apic_request = 0x200,
    apic_command_low = 0x300,
    apic_command_high = 0x310,
    apic_timer_vector = 0x320,
    apic_pin0_vector = 0x350,
    apic_error_vector = 0x370,
    apic_initial_count = 0x380,
    apic_current_count = 0x390,
    apic_divide = 0x3e0,
};

enum {
    apic_on = 1 << 8,        /* of the spurious vector's register */
    apic_masked = 1 << 16,   /* of a local vector */
    apic_periodic = 1 << 17, /* of the timer's */
    apic_deadline = 2 << 17,
    apic_external = 7 << 8, /* of a pin's */
    apic_to_self = 1 << 18, /* of a command */
    apic_nmi = 4 << 8,
    apic_logical = 1 << 11,
    apic_init = 5 << 8,
    apic_start = 6 << 8,
    apic_assert = 1 << 14,
    apic_to_all = 2 << 18,
    apic_to_others = 3 << 18,
    apic_divide_by_1 = 0xb,
    apic_divide_by_16 = 3,
};

static inline void map_apic(void) {
    map_page(apic_place, apic_place, page_present | page_writable);
}

static inline uint32_t read_apic(unsigned offset) {
    return previrt_mmio_read32(PREVIRT_DEVICE_ANY, apic_place + offset);
}

static inline void write_apic(unsigned offset, uint32_t value) {
    previrt_mmio_write32(PREVIRT_DEVICE_ANY, apic_place + offset, value);
}

/* Of the eight registers behind `first`. */
static inline bool apic_vector_is_set(unsigned first, unsigned vector) {
    return (read_apic(first + vector / 32 * 0x10) >> vector % 32 & 1) != 0;
}
