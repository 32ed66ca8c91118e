/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CR3 and page tables that name frames which are not the guest's, or hold garbage. A guest reaches its own
 * RAM and nothing else, by whatever number it asks.
 */
#include "hostile.h"

#include "harness/access.h"
#include "harness/paging.h"

static const uint64_t rights = page_present | page_writable;

CASE cr3_far_outside(void) {
    write_cr3(UINT64_C(1) << 38);
}

CASE cr3_just_outside(void) {
    write_cr3(ram_bytes);
}

CASE cr3_reserved_bits(void) {
    const struct exception exception =
        exception_of("mov %[value], %%cr3", [value] "r"(UINT64_C(1) << 45) : "memory");
    check_exception("CR3 wider than an address", &exception, vector_protection, 0, at_instruction);
}

static uint64_t page[512] __attribute__((aligned(4096)));

CASE cr3_of_zeros(void) {
    write_cr3((uintptr_t)page);
}

CASE cr3_of_garbage(void) {
    uint64_t state = 88172645463325252;
    for (unsigned i = 0; i < 512; ++i) {
        page[i] = next_random(&state);
    }
    write_cr3((uintptr_t)page);
}

/* All entries lead back to the table itself: each level of it is a table of the level below. */
CASE cr3_of_itself(void) {
    for (unsigned i = 0; i < 512; ++i) {
        page[i] = (uintptr_t)page | rights | page_accessed | page_dirty;
    }
    write_cr3((uintptr_t)page);
}

CASE page_far_outside(void) {
    load_page_tables();
    map_page(unmapped_area, UINT64_C(1) << 38, rights);
    read_byte(unmapped_area);
    print("FAIL: it went through\n");
}

CASE page_just_outside(void) {
    load_page_tables();
    map_page(unmapped_area, ram_bytes, rights);
    write_byte(unmapped_area, 1);
    print("FAIL: it went through\n");
}

CASE large_page_outside(void) {
    load_page_tables();
    set_entry(2, page_entry(unmapped_area, 2), ram_bytes | rights | page_large);
    write_byte(unmapped_area, 1);
    print("FAIL: it went through\n");
}

CASE table_outside(void) {
    load_page_tables();
    set_entry(2, page_entry(unmapped_area, 2), ram_bytes | rights);
    read_byte(unmapped_area);
    print("FAIL: it went through\n");
}

CASE directory_outside(void) {
    load_page_tables();
    set_entry(4, page_entry((uintptr_t)unmapped_area << 16, 4), (UINT64_C(1) << 38) | rights);
    read_byte((uintptr_t)unmapped_area << 16);
    print("FAIL: it went through\n");
}

/* A number is a page of RAM, and the one of that number: not a machine frame that another owns. */
CASE every_frame(void) {
    load_page_tables();
    volatile uint64_t* const area = (volatile uint64_t*)unmapped_area;
    unsigned different = 0;
    for (uint64_t frame = 0; frame < ram_bytes / page_size; ++frame) {
        volatile uint64_t* const own = (volatile uint64_t*)(frame * page_size);
        map_page(unmapped_area, frame * page_size, rights);
        flush_page(unmapped_area);
        const uint64_t before = area[5];
        different += before != own[5];
        const bool is_spare = frame * page_size >= 0x2000000;
        if (is_spare) {
            area[5] = frame ^ 0x5a5a;
            different += own[5] != (frame ^ 0x5a5a);
        }
    }
    check_equal("pages that are not the one of their number", different, 0);
}

/* By every level, and not annotated: found through the table's own address. */
CASE plain_stores(void) {
    load_page_tables();
    map_page(unmapped_area, (uintptr_t)page, rights);
    read_byte(unmapped_area);
    *page_entry(unmapped_area, 1) = ram_bytes | rights;
    flush_page(unmapped_area);
    write_byte(unmapped_area, 1);
    print("FAIL: it went through\n");
}

/* Far more tables than a shadow has room for. */
CASE tables_without_end(void) {
    load_page_tables();
    volatile uint64_t* const root = page_entry(0, 4);
    const uint64_t tables = 0x2000000;
    const uint64_t slot_size = UINT64_C(1) << 39;
    const uint64_t count = 4096;
    const uint64_t flags = rights | page_accessed | page_dirty;
    uint64_t state = 88172645463325252;
    for (uint64_t table = 0; table < count; ++table) {
        volatile uint64_t* const entries = (volatile uint64_t*)(tables + table * page_size);
        for (unsigned i = 0; i < 512; ++i) {
            entries[i] = (tables + next_random(&state) % count * page_size) | flags;
        }
    }
    /* The last slots of the lower half hold RAM and the VMM in a process. */
    for (unsigned i = 1; i < 254; ++i) {
        set_entry(4, &root[i], (tables + i * page_size) | flags);
    }
    unsigned faults = 0;
    for (unsigned i = 0; i < 8; ++i) {
        const uintptr_t address = slot_size + next_random(&state) % (253 * slot_size);
        faults += load(address).frame.vector != no_exception;
    }
    check_equal("faults", faults, 0);
}

/* Not hostile at all: a few bytes here and there, as a program may touch without any privilege, with more
 * tables than a shadow has room for at once. */
CASE sparse_memory(void) {
    load_page_tables();
    const uintptr_t tables = 0x2000000;
    const uintptr_t directories = 0x1c00000;
    const uint64_t count = 4000;
    const uintptr_t base = UINT64_C(0x100000000);
    for (uint64_t i = 0; i < count; ++i) {
        const uintptr_t address = base + i * large_page_size;
        volatile uint64_t* const pointer = page_entry(address, 3);
        if (!(*pointer & page_present)) {
            set_entry(3, pointer, (directories + (i >> 9) * page_size) | rights);
        }
        set_entry(2, page_entry(address, 2), (tables + i * page_size) | rights);
        map_page(address, 0x1800000 + (i & 0xff) * page_size, rights);
        write_byte(address, (uint8_t)i);
    }
    unsigned different = 0;
    for (uint64_t i = count - 256; i < count; ++i) {
        different += read_byte(base + i * large_page_size) != (uint8_t)i;
    }
    check_equal("bytes lost", different, 0);
}

static __attribute__((unused)) volatile uintptr_t first_page = 0x100;

CASE executes_low_memory(void) {
    load_page_tables();
    write_byte(first_page, 0xc3);
    execute(first_page);
    print("FAIL: it went through\n");
}

CASE calculates_in_low_memory(void) {
    load_page_tables();
    asm volatile("shlq $3, (%[where])" : : [where] "r"(first_page) : "memory", "cc");
    print("FAIL: it went through\n");
}

DEFINE_GUEST
