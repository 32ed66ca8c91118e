/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Faults that lead to faults, and guests that never end by themselves.
 */
#include "hostile.h"

#include "harness/access.h"
#include "harness/paging.h"
#include "harness/pic.h"
#include "harness/ports.h"
#include "harness/timer.h"

static void return_to_it(struct frame* frame) {
    (void)frame;
}

CASE page_fault_never_resolved(void) {
    handlers[vector_page_fault] = return_to_it;
    load_page_tables();
    read_byte(unmapped_area);
}

CASE invalid_opcode_for_ever(void) {
    handlers[vector_invalid_opcode] = return_to_it;
    asm volatile("ud2");
}

/* The stack is two pages with nothing below. */
CASE handler_faults(void) {
    load_page_tables();
    set_gate(vector_page_fault, (const void*)unmapped_area, interrupt_gate, 0);
    const uintptr_t stack = unmapped_area + 0x100000;
    map_page(stack, (uintptr_t)allocate_page(), page_present | page_writable);
    map_page(stack + page_size, (uintptr_t)allocate_page(), page_present | page_writable);
    asm volatile("mov %[stack], %%rsp\n"
                 "movb $0, (%[stack])\n"
                 "movb $0, -4096(%[stack])\n"
                 "mov (%[area]), %%al"
                 :
                 : [stack] "r"(stack + 2 * page_size - 16), [area] "r"((uintptr_t)unmapped_area)
                 : "memory");
}

CASE triple_fault_by_table(void) {
    const struct table_pointer none = {0, 0};
    asm volatile("lidt %[none]\n ud2" : : [none] "m"(none));
}

CASE triple_fault_by_gates(void) {
    for (unsigned vector = 0; vector < 256; ++vector) {
        idt[vector] = (struct gate){.type = 0};
    }
    asm volatile("int3");
}

CASE hlt_without_interrupts(void) {
    for (;;) {
        asm volatile("cli\n hlt");
    }
}

CASE loop_without_interrupts(void) {
    disable_interrupts();
    for (;;) {
        asm volatile("");
    }
}

static uint64_t ticks;

/* Quicker than this handler, a timer leaves no time for anything else: it stops the storm itself. */
static void count_tick(struct frame* frame) {
    (void)frame;
    if (++ticks == 3000) {
        mask_irq(0);
    }
    end_of_interrupt(0);
}

/* The fastest there is: 596 kHz. */
CASE interrupt_storm(void) {
    handlers[first_irq_vector] = count_tick;
    quiet_timer();
    at_the_deed();
    start_periodic(2);
    unmask_irq(0);
    enable_interrupts();
    while (*(volatile uint64_t*)&ticks < 3000) {
        asm volatile("" : : : "memory");
    }
    disable_interrupts();
    check("ticks are taken", true);
}

CASE interrupt_never_ended(void) {
    handlers[first_irq_vector] = return_to_it;
    quiet_timer();
    at_the_deed();
    start_periodic(2);
    unmask_irq(0);
    while ((interrupts_in_service() & 1) == 0) {
        enable_interrupts();
        disable_interrupts();
    }
    for (unsigned i = 0; i < 1000; ++i) {
        enable_interrupts();
        disable_interrupts();
    }
    check_equal("in service", interrupts_in_service() & 1, 1);
}

/* Any byte to any register of any device, but for the keyboard controller's, which resets. */
CASE port_storm(void) {
    static const uint16_t ports[] = {0x20, 0x21, 0xa0,  0xa1,  0x40,  0x41,  0x42,  0x43,  0x61,  0x70,
                                     0x71, 0x80, 0x3f8, 0x3f9, 0x3fa, 0x3fb, 0x3fc, 0x3fd, 0x3fe, 0x3ff};
    uint64_t state = 88172645463325252;
    for (unsigned i = 0; i < 30000; ++i) {
        const uint64_t random = next_random(&state);
        const uint16_t port = ports[(random >> 8) % (sizeof ports / sizeof ports[0])];
        if (random & 1) {
            out8(port, (uint8_t)(random >> 32));
        } else {
            in8(port);
        }
    }
    start_console();
    print("\n");
    check("the console still works", true);
}

CASE port_that_is_none(void) {
    in8(0xde15);
    print("FAIL: it went through\n");
}

/* To the end of RAM. */
CASE string_port_without_end(void) {
    uint8_t* to = (uint8_t*)(uintptr_t)(ram_bytes - 0x8000);
    uint64_t count = UINT64_C(1) << 40;
    asm volatile("cld\n rep insb" : "+D"(to), "+c"(count) : "d"(0x3fd) : "memory");
    print("FAIL: it came to an end\n");
}

DEFINE_GUEST
