/* SPDX-License-Identifier: BSD-2-Clause
 *
 * GDT, TSS and IDT. The order of the selectors is the one that SYSCALL and SYSRET ask for.
 */
#pragma once

#include <stdint.h>

enum {
    kernel_code = 0x10,
    kernel_data = 0x18,
    user_code32 = 0x23,
    user_data = 0x2b,
    user_code = 0x33,
    task_state = 0x40,        /* two slots */
    local_table = 0x50,       /* two slots */
    spare_descriptors = 0x60, /* up to gdt_limit, for a guest's own */
    gdt_limit = 0xff,
};

enum {
    interrupt_gate = 0xe,
    trap_gate = 0xf,
};

struct task_state_segment {
    uint32_t reserved0;
    uint64_t rsp[3];
    uint64_t reserved1;
    uint64_t ist[7];
    uint64_t reserved2;
    uint16_t reserved3;
    uint16_t io_map_base;
} __attribute__((packed));

struct gate {
    uint16_t offset_low;
    uint16_t selector;
    uint8_t ist;
    uint8_t type; /* present << 7, DPL << 5, type */
    uint16_t offset_middle;
    uint32_t offset_high;
    uint32_t reserved;
};

struct table_pointer {
    uint16_t limit;
    uint64_t base;
} __attribute__((packed));

extern uint64_t gdt[(gdt_limit + 1) / 8];
extern struct gate idt[256];
extern struct task_state_segment tss;

/* Loads all three, and every segment register. Gates lead to the exception recorder; interrupts stay masked.
 */
void load_descriptor_tables(void);

void set_gate(unsigned vector, const void* entry, unsigned type, unsigned privilege);

/* A code or data descriptor: access is bits 47..40, flags bits 55..52. */
uint64_t make_descriptor(uint32_t base, uint32_t limit, uint8_t access, uint8_t flags);

/* The two slots of an LDT or TSS. */
void set_system_descriptor(unsigned selector, const void* base, uint32_t limit, uint8_t access);
