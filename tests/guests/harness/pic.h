/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The two 8259A interrupt controllers of a PC.
 */
#pragma once

#include <stdint.h>

enum {
    pic_master_command = 0x20,
    pic_master_data = 0x21,
    pic_slave_command = 0xa0,
    pic_slave_data = 0xa1,
    first_irq_vector = 0x20,
};

void mask_all_interrupts(void);

/* IRQ 0..15 at vectors 0x20..0x2f, all masked, end of interrupt by command. */
void start_pic(void);
void unmask_irq(unsigned irq);
void mask_irq(unsigned irq);
void end_of_interrupt(unsigned irq);

/* The in-service and interrupt request registers of both controllers, the slave's in the high byte. */
uint16_t interrupts_in_service(void);
uint16_t interrupts_requested(void);
