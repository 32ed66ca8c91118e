/* SPDX-License-Identifier: BSD-2-Clause */
#include "paging.h"

#include "console.h"
#include "registers.h"

#include <previrt/annotate.h>

enum { entries = 512, pages = 64 };

static uint64_t memory[pages][entries] __attribute__((aligned(4096)));
static unsigned allocated;

void* allocate_page(void) {
    if (allocated == pages) {
        print("FAIL: the guest is out of pages\n");
        abandon_guest();
    }
    return memory[allocated++];
}

void load_page_tables(void) {
    const uint64_t rights = page_present | page_writable;
    uint64_t* const map = allocate_page();
    uint64_t* const directory_pointers = allocate_page();
    uint64_t* const directory = allocate_page();
    /* No CR3 holds them yet: plain stores. The user's pages are below the same top-level entry. */
    for (uint64_t i = 0; i < entries; ++i) {
        directory[i] = i * large_page_size | rights | page_large;
    }
    directory_pointers[0] = (uintptr_t)directory | rights;
    map[0] = (uintptr_t)directory_pointers | rights | page_user;
    write_cr3((uintptr_t)map);
}

void set_entry(unsigned level, volatile uint64_t* entry, uint64_t value) {
    switch (level) {
    case 1:
        previrt_page_table_write(PREVIRT_PTE, entry, value);
        break;
    case 2:
        previrt_page_table_write(PREVIRT_PMD, entry, value);
        break;
    case 3:
        previrt_page_table_write(PREVIRT_PUD, entry, value);
        break;
    default:
        previrt_page_table_write(PREVIRT_PGD, entry, value);
    }
}

volatile uint64_t* page_entry(uintptr_t address, unsigned level) {
    volatile uint64_t* table = (volatile uint64_t*)(read_cr3() & page_frame);
    for (unsigned current = 4;; --current) {
        volatile uint64_t* const entry = &table[address >> (12 + 9 * (current - 1)) & (entries - 1)];
        if (current == level) {
            return entry;
        }
        if (!(*entry & page_present)) {
            set_entry(current, entry, (uintptr_t)allocate_page() | page_present | page_writable | page_user);
        }
        table = (volatile uint64_t*)(*entry & page_frame);
    }
}

void map_page(uintptr_t address, uintptr_t physical, uint64_t flags) {
    set_entry(1, page_entry(address, 1), physical | flags);
}
