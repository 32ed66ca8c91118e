/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 63
 *
 * The first 2 MiB, mapped to themselves by pages and by a large page: what is low is memory like any other.
 * Below 64 KiB only what compilers make of loads and stores is tried; and nothing is tried where a PC has its
 * BIOS.
 */
#include "harness/access.h"
#include "harness/check.h"
#include "harness/console.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/registers.h"

static const uintptr_t elsewhere_mapped = 0x50000000;
static const uint64_t rights = page_present | page_writable;

static void check_place(const char* what, uintptr_t address, uint64_t value) {
    volatile uint64_t* const low = (volatile uint64_t*)address;
    map_page(elsewhere_mapped, address & ~(uintptr_t)(page_size - 1), rights);
    flush_page(elsewhere_mapped);
    volatile uint64_t* const same = (volatile uint64_t*)(elsewhere_mapped + address % page_size);
    const uint64_t before = *same;
    check_equal(what, *low == before, true);
    *low = value;
    check_equal("stored", *same, value);
    *same = value + 1;
    check_equal("loaded", *low, value + 1);
    *low += 5;
    check_equal("added to", *same, value + 6);
    *(volatile uint8_t*)(address + 1) = 0x5a;
    check_equal("one byte", *same, ((value + 6) & ~UINT64_C(0xff00)) | 0x5a00);
    *same = before;
}

static void check_places(void) {
    check_place("at 1 MiB and 64 KiB", 0x110000, 0x1122334455667788);
    check_place("at 128 KiB", 0x20000, 0x2122334455667788);
    check_place("at 64 KiB", 0x10000, 0x3122334455667788);
    check_place("at 60 KiB", 0xf008, 0x4122334455667788);
    check_place("at 28 KiB", 0x7000, 0x5122334455667788);
    check_place("in the first page", 0x28, 0x6122334455667788);
}

static void check_rights(void) {
    set_entry(1, page_entry(0x7000, 1), 0x7000 | page_present);
    write_cr3(read_cr3());
    struct exception exception = store(0x7004, 1);
    check_exception("store to a read-only page", &exception, vector_page_fault, 3, at_instruction);
    set_entry(1, page_entry(0x7000, 1), 0);
    write_cr3(read_cr3());
    exception = load(0x7004);
    check_exception("load of an absent page", &exception, vector_page_fault, 0, at_instruction);
    check_equal("CR2", exception.cr2, 0x7004);
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    write_cr0(read_cr0() | cr0_write_protect);
    print("by a large page\n");
    check_places();
    uint64_t* const table = allocate_page();
    for (uint64_t i = 0; i < 512; ++i) {
        table[i] = i * page_size | rights | page_accessed | page_dirty;
    }
    set_entry(2, page_entry(0, 2), (uintptr_t)table | rights);
    write_cr3(read_cr3());
    print("by pages\n");
    check_places();
    check_rights();
}
