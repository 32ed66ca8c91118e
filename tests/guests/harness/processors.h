/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Further processors, which begin by INIT and SIPI. Before: load_descriptor_tables, load_page_tables,
 * map_apic.
 */
#pragma once

#include "apic.h"

#include <stdint.h>

enum { most_processors = 8 };

/* The work of a processor other than the first. The processor has the first one's page tables, GDT and IDT, a
   stack of its own, and interrupts disabled. It halts when this returns. */
typedef void processor_work(unsigned number);

/* Starts the processors 1 to count - 1. Returns when all of them have begun. */
void start_processors(unsigned count, processor_work* work);
/* Resets one, and starts it again. */
void restart_processor(unsigned number);

/* Counts all starts that have come to an end. */
extern volatile unsigned processors_begun;

static inline unsigned this_processor(void) {
    return read_apic(apic_id) >> 24;
}

static inline void send_message(unsigned processor, uint32_t command) {
    write_apic(apic_command_high, processor << 24);
    write_apic(apic_command_low, command);
}
