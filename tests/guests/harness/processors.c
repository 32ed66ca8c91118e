/* SPDX-License-Identifier: BSD-2-Clause */
#include "processors.h"

#include "descriptors.h"
#include "registers.h"

enum { trampoline_at = 0x8000, stack_bytes = 8192 };

extern const uint8_t processor_trampoline[], processor_trampoline_end[];
/* In the trampoline. */
extern const uint8_t processor_trampoline_root[];

volatile unsigned processors_begun;
static processor_work* work_of_processors;

uint8_t processor_stacks[most_processors][stack_bytes] __attribute__((aligned(16)));

/* trampoline.S calls this on the processor's stack. */
void run_processor(void);
void run_processor(void) {
    const struct table_pointer gdt_pointer = {gdt_limit, (uintptr_t)gdt};
    const struct table_pointer idt_pointer = {sizeof idt - 1, (uintptr_t)idt};
    asm volatile("lgdt %[gdt]\n"
                 "lidt %[idt]"
                 :
                 : [gdt] "m"(gdt_pointer), [idt] "m"(idt_pointer)
                 : "memory");
    write_apic(apic_spurious_vector, apic_on | 0xff);
    __atomic_fetch_add(&processors_begun, 1, __ATOMIC_SEQ_CST);
    work_of_processors(this_processor());
    for (;;) {
        asm volatile("cli\n hlt" : : : "memory");
    }
}

static void begin(unsigned number) {
    const unsigned before = processors_begun;
    send_message(number, apic_init | apic_assert);
    send_message(number, apic_start | trampoline_at >> 12);
    while (processors_begun == before) {
        asm volatile("pause" : : : "memory");
    }
}

void start_processors(unsigned count, processor_work* work) {
    uint8_t* const to = (uint8_t*)trampoline_at;
    for (const uint8_t* from = processor_trampoline; from != processor_trampoline_end; ++from) {
        to[from - processor_trampoline] = *from;
    }
    *(uint32_t*)(to + (processor_trampoline_root - processor_trampoline)) = (uint32_t)read_cr3();
    work_of_processors = work;
    for (unsigned number = 1; number < count; ++number) {
        begin(number);
    }
}

void restart_processor(unsigned number) {
    begin(number);
}
