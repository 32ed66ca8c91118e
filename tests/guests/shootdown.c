/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 8
 * processors: 3
 *
 * Page tables that several processors use: one changes an entry, sends the others a message, and they flush,
 * by INVLPG or by a load of CR3. Behind their answer no store of theirs reaches the old page, and all reach
 * the new one; a page that was taken away or made read-only faults on each of them. Before the answer either
 * page may get a store. Locked additions on a page that comes and goes lose nothing.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/pic.h"
#include "harness/processors.h"
#include "harness/registers.h"
#include "harness/timer.h"

enum { count = 3, flush_vector = 0x51, rounds = 60 };

#define window UINT64_C(0x40000000) /* above what the first tables map */

enum how { by_page, by_root };

static volatile enum how how;
static volatile unsigned answers;
static volatile bool others_write;
static volatile bool ends;
static volatile unsigned ended; /* processors, whose additions are counted */
static volatile unsigned faults[count];
static volatile uint64_t additions[count];
static uint64_t* pages[2];

static void invalidate(void) {
    if (how == by_page) {
        asm volatile("invlpg (%0)" : : "r"(window) : "memory");
    } else {
        write_cr3(read_cr3());
    }
}

static void take_flush(struct frame* frame) {
    (void)frame;
    invalidate();
    __atomic_fetch_add(&answers, 1, __ATOMIC_SEQ_CST);
    write_apic(apic_end_of_interrupt, 0);
}

/* The store is left out. */
static void take_page_fault(struct frame* frame) {
    extern const uint8_t behind_addition[];
    ++faults[this_processor()];
    frame->rip = (uintptr_t)behind_addition;
}

/* False: it faulted. */
static __attribute__((noinline)) bool add_one(void) {
    bool done = false;
    asm volatile("lock incq %[word]\n"
                 "movb $1, %[done]\n"
                 ".globl behind_addition\n"
                 "behind_addition:"
                 : [done] "+m"(done)
                 : [word] "m"(*(volatile uint64_t*)window)
                 : "memory");
    return done;
}

static void work(unsigned number) {
    write_cr0(read_cr0() | cr0_write_protect);
    asm volatile("sti" : : : "memory");
    while (!ends) {
        if (others_write && add_one()) {
            ++additions[number];
        }
        asm volatile("pause" : : : "memory");
    }
    __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
}

static void change(uint64_t entry, enum how by) {
    how = by;
    set_entry(1, page_entry(window, 1), entry);
    answers = 0;
    invalidate();
    send_message(0, apic_to_others | flush_vector);
    while (answers < count - 1) {
        asm volatile("pause" : : : "memory");
    }
}

static uint64_t entry_of(unsigned page, uint64_t flags) {
    return (uintptr_t)pages[page] | page_present | page_accessed | page_dirty | flags;
}

static bool stays(unsigned page) {
    const volatile uint64_t* const word = pages[page];
    const uint64_t before = *word;
    for (volatile unsigned i = 0; i < 3000; ++i) {
    }
    return *word == before;
}

static bool grows(unsigned page) {
    const volatile uint64_t* const word = pages[page];
    const uint64_t before = *word;
    for (unsigned i = 0; i < 100000000 && *word == before; ++i) {
        asm volatile("pause" : : : "memory");
    }
    return *word != before;
}

static void check_exchange(const char* old_stays, const char* new_grows, enum how by) {
    bool stay = true;
    bool grow = true;
    for (unsigned i = 0; i < rounds; ++i) {
        change(entry_of((i + 1) % 2, page_writable), by);
        stay = stay && stays(i % 2);
        grow = grow && grows((i + 1) % 2);
    }
    check(old_stays, stay);
    check(new_grows, grow);
}

static unsigned faulting(void) {
    unsigned bits = 0;
    const unsigned before[count] = {0, faults[1], faults[2]};
    for (unsigned number = 1; number < count; ++number) {
        for (unsigned i = 0; i < 100000000 && faults[number] == before[number]; ++i) {
            asm volatile("pause" : : : "memory");
        }
        bits |= (faults[number] != before[number] ? 1U : 0U) << number;
    }
    return bits;
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    write_cr0(read_cr0() | cr0_write_protect);
    map_apic();
    quiet_timer();
    mask_all_interrupts();
    write_apic(apic_spurious_vector, apic_on | 0xff);
    pages[0] = allocate_page();
    pages[1] = allocate_page();
    map_page(window, (uintptr_t)pages[0], page_present | page_writable);
    handlers[flush_vector] = take_flush;
    handlers[vector_page_fault] = take_page_fault;
    start_processors(count, work);
    others_write = true;
    check_exchange("INVLPG: no store reaches the old page", "all reach the new one", by_page);
    check_exchange("CR3: no store reaches the old page", "all reach the new one", by_root);
    change(entry_of(0, 0), by_page);
    check("read-only: no store", stays(0));
    check_equal("each faults", faulting(), 6);
    change(0, by_page);
    check_equal("not present: each faults", faulting(), 6);
    change(entry_of(0, page_writable), by_page);
    grows(0);
    ends = true;
    while (ended < count - 1) {
        asm volatile("pause" : : : "memory");
    }
    check_equal("locked additions", *pages[0] + *pages[1], additions[1] + additions[2]);
}
