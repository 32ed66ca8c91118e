/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Page tables: the first GiB is mapped to itself by 2 MiB pages, the rest is a guest's to map.
 */
#pragma once

#include <stdint.h>

enum {
    page_size = 4096,
    large_page_size = 0x200000,
    page_present = 1 << 0,
    page_writable = 1 << 1,
    page_user = 1 << 2,
    page_accessed = 1 << 5,
    page_dirty = 1 << 6,
    page_large = 1 << 7,
    page_global = 1 << 8,
};
#define page_no_execute (UINT64_C(1) << 63)
#define page_frame UINT64_C(0x000ffffffffff000)

/* Builds the tables and loads CR3. */
void load_page_tables(void);

/* A zeroed page of the guest's own memory. */
void* allocate_page(void);

/* The entry of an address in the tables that CR3 holds: level 1 is the page table. Tables that are missing
   above it are made, with all rights. */
volatile uint64_t* page_entry(uintptr_t address, unsigned level);

/* Stores into a live table, as a guest does that annotates its stores. */
void set_entry(unsigned level, volatile uint64_t* entry, uint64_t value);

void map_page(uintptr_t address, uintptr_t physical, uint64_t flags);
