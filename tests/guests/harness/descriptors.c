/* SPDX-License-Identifier: BSD-2-Clause */
#include "descriptors.h"

#include "exceptions.h"
#include "pic.h"

uint64_t gdt[(gdt_limit + 1) / 8] __attribute__((aligned(16)));
struct gate idt[256] __attribute__((aligned(16)));
struct task_state_segment tss __attribute__((aligned(128))); /* never across a page */

static uint8_t kernel_stack[8192] __attribute__((aligned(16)));

uint64_t make_descriptor(uint32_t base, uint32_t limit, uint8_t access, uint8_t flags) {
    return (limit & 0xffff) | (uint64_t)(base & 0xffffff) << 16 | (uint64_t)access << 40 |
           (uint64_t)(limit >> 16 & 0xf) << 48 | (uint64_t)(flags & 0xf) << 52 | (uint64_t)(base >> 24) << 56;
}

void set_system_descriptor(unsigned selector, const void* base, uint32_t limit, uint8_t access) {
    gdt[selector / 8] = make_descriptor((uint32_t)(uintptr_t)base, limit, access, 0);
    gdt[selector / 8 + 1] = (uintptr_t)base >> 32;
}

void set_gate(unsigned vector, const void* entry, unsigned type, unsigned privilege) {
    const uintptr_t offset = (uintptr_t)entry;
    idt[vector] = (struct gate){.offset_low = (uint16_t)offset,
                                .selector = kernel_code,
                                .type = (uint8_t)(0x80 | privilege << 5 | type),
                                .offset_middle = (uint16_t)(offset >> 16),
                                .offset_high = (uint32_t)(offset >> 32)};
}

static void fill_tables(void) {
    gdt[kernel_code / 8] = make_descriptor(0, 0xfffff, 0x9b, 0xa);
    gdt[kernel_data / 8] = make_descriptor(0, 0xfffff, 0x93, 0xc);
    gdt[user_code32 / 8] = make_descriptor(0, 0xfffff, 0xfb, 0xc);
    gdt[user_data / 8] = make_descriptor(0, 0xfffff, 0xf3, 0xc);
    gdt[user_code / 8] = make_descriptor(0, 0xfffff, 0xfb, 0xa);
    set_system_descriptor(task_state, &tss, sizeof tss - 1, 0x89);
    tss.rsp[0] = (uintptr_t)(kernel_stack + sizeof kernel_stack);
    tss.io_map_base = sizeof tss;
    for (unsigned vector = 0; vector < 256; ++vector) {
        set_gate(vector, vector_entry(vector), interrupt_gate, 0);
    }
}

void load_descriptor_tables(void) {
    const struct table_pointer gdt_pointer = {sizeof gdt - 1, (uintptr_t)gdt};
    const struct table_pointer idt_pointer = {sizeof idt - 1, (uintptr_t)idt};
    fill_tables();
    mask_all_interrupts();
    asm volatile("lgdt %[gdt]\n"
                 "pushq %[code]\n"
                 "pushq $1f\n"
                 "lretq\n"
                 "1: mov %[data], %%ds\n"
                 "mov %[data], %%es\n"
                 "mov %[data], %%ss\n"
                 "mov %[null], %%fs\n"
                 "mov %[null], %%gs\n"
                 "lidt %[idt]\n"
                 "lldt %w[null]\n"
                 "ltr %[task]"
                 :
                 : [gdt] "m"(gdt_pointer), [idt] "m"(idt_pointer), [code] "i"(kernel_code),
                   [data] "r"(kernel_data), [null] "r"(0), [task] "r"((uint16_t)task_state)
                 : "memory");
}
