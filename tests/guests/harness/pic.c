/* SPDX-License-Identifier: BSD-2-Clause */
#include "pic.h"

#include "ports.h"

enum {
    cascade = 2,
    initialise = 0x11, /* ICW1: edge triggered, cascaded, ICW4 follows */
    mode_8086 = 0x01,  /* ICW4 */
    end = 0x20,        /* OCW2: non-specific EOI */
    read_irr = 0x0a,   /* OCW3 */
    read_isr = 0x0b,
};

void mask_all_interrupts(void) {
    out8(pic_master_data, 0xff);
    out8(pic_slave_data, 0xff);
}

void start_pic(void) {
    out8(pic_master_command, initialise);
    out8(pic_master_data, first_irq_vector);
    out8(pic_master_data, 1 << cascade);
    out8(pic_master_data, mode_8086);
    out8(pic_slave_command, initialise);
    out8(pic_slave_data, first_irq_vector + 8);
    out8(pic_slave_data, cascade);
    out8(pic_slave_data, mode_8086);
    mask_all_interrupts();
}

void unmask_irq(unsigned irq) {
    if (irq >= 8) {
        out8(pic_slave_data, (uint8_t)(in8(pic_slave_data) & ~(1U << (irq - 8))));
        irq = cascade;
    }
    out8(pic_master_data, (uint8_t)(in8(pic_master_data) & ~(1U << irq)));
}

void mask_irq(unsigned irq) {
    const uint16_t port = irq < 8 ? pic_master_data : pic_slave_data;
    out8(port, (uint8_t)(in8(port) | 1U << irq % 8));
}

void end_of_interrupt(unsigned irq) {
    if (irq >= 8) {
        out8(pic_slave_command, end);
    }
    out8(pic_master_command, end);
}

static uint16_t read_register(uint8_t command) {
    out8(pic_master_command, command);
    out8(pic_slave_command, command);
    return (uint16_t)(in8(pic_master_command) | in8(pic_slave_command) << 8);
}

uint16_t interrupts_in_service(void) {
    return read_register(read_isr);
}

uint16_t interrupts_requested(void) {
    return read_register(read_irr);
}
