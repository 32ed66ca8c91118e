/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 39
 *
 * Translation by page tables that are changed while they are in use, by annotated stores and INVLPG: pages
 * and large pages appear, move, lose rights and go. Rights are those that every level grants. Bits 9 to 11
 * and 52 to 58 of an entry are the kernel's own. An entry that was not present is not cached: its change
 * needs no INVLPG.
 */
#include "harness/access.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"

static const uintptr_t area = 0x50000000;

enum {
    rights = page_present | page_writable,
};

static uint8_t* first;
static uint8_t* second;

static void check_map(void) {
    struct exception exception = load(area);
    check_exception("load before anything is mapped", &exception, vector_page_fault, 0, at_instruction);
    map_page(area, (uintptr_t)first, rights);
    check_equal("a page is mapped: load", read_byte(area), 1);
    write_byte(area + 8, 0x55);
    check_equal("store", first[8], 0x55);
    exception = load(area + page_size);
    check_exception("the page behind it is absent", &exception, vector_page_fault, 0, at_instruction);

    map_page(area, (uintptr_t)second, rights);
    flush_page(area);
    check_equal("the page is moved: load", read_byte(area), 2);
    map_page(area + page_size, (uintptr_t)first, rights);
    check_equal("the page behind it is mapped", read_byte(area + page_size), 1);
    check_equal("an access across both", *(volatile uint16_t*)(area + page_size - 1), 0x0102);

    set_entry(1, page_entry(area, 1), 0);
    flush_page(area);
    exception = load(area + 5);
    check_exception("the page is unmapped", &exception, vector_page_fault, 0, at_instruction);
    check_equal("CR2", exception.cr2, area + 5);
    exception = exception_of("movw $1, (%[where])", [where] "r"(area + page_size - 1) : "memory");
    check_exception("store across both: the first half is absent", &exception, vector_page_fault, 2,
                    at_instruction);
    check_equal("CR2", exception.cr2, area + page_size - 1);
    check_equal("and the second half is not written", first[0], 1);
}

static void check_read_only(void) {
    write_cr0(read_cr0() | cr0_write_protect);
    map_page(area, (uintptr_t)first, page_present);
    check_equal("read-only: load", read_byte(area), 1);
    struct exception exception = store(area, 0x77);
    check_exception("read-only: store", &exception, vector_page_fault, 3, at_instruction);
    check_equal("and nothing is stored", first[0], 1);
    map_page(area, (uintptr_t)first, rights);
    flush_page(area);
    write_byte(area + 16, 0x66);
    check_equal("writable again: store", first[16], 0x66);

    volatile uint64_t* const directory_entry = page_entry(area, 2);
    set_entry(2, directory_entry, *directory_entry & ~(uint64_t)page_writable);
    write_cr3(read_cr3());
    exception = store(area, 0x77);
    check_exception("read-only by the level above", &exception, vector_page_fault, 3, at_instruction);
    set_entry(2, directory_entry, *directory_entry | page_writable);
    write_cr3(read_cr3());
    write_byte(area + 16, 0x67);
    check_equal("writable again", first[16], 0x67);
}

static void check_large(void) {
    const uintptr_t large = area + 0x10000000;
    const uintptr_t base = (uintptr_t)first & ~(uintptr_t)(large_page_size - 1);
    const uintptr_t offset = (uintptr_t)first - base;
    set_entry(2, page_entry(large, 2), base | rights | page_large);
    check_equal("a large page: load", read_byte(large + offset), 1);
    write_byte(large + offset + 24, 0x44);
    check_equal("store", first[24], 0x44);
    set_entry(2, page_entry(large, 2), 0);
    flush_page(large + offset);
    const struct exception exception = load(large + offset);
    check_exception("the large page is unmapped", &exception, vector_page_fault, 0, at_instruction);
    map_page(large + offset, (uintptr_t)second, rights);
    check_equal("small pages in its place", read_byte(large + offset), 2);
}

static void check_shared_table(void) {
    const uintptr_t alias = area + large_page_size;
    set_entry(2, page_entry(alias, 2), *page_entry(area, 2));
    map_page(area + 2 * page_size, (uintptr_t)second, rights);
    check_equal("one table in two places: the first", read_byte(area + 2 * page_size), 2);
    check_equal("the second", read_byte(alias + 2 * page_size), 2);
    map_page(area + 2 * page_size, (uintptr_t)first, rights);
    flush_page(area + 2 * page_size);
    flush_page(alias + 2 * page_size);
    check_equal("and changed: the first", read_byte(area + 2 * page_size), 1);
    check_equal("the second", read_byte(alias + 2 * page_size), 1);
}

static void check_kernels_bits(void) {
    const uint64_t own = UINT64_C(0x07f0000000000e00);
    volatile uint64_t* const entry = page_entry(area, 1);
    map_page(area, (uintptr_t)second, rights | own);
    flush_page(area);
    check_equal("the kernel's own bits mean nothing", read_byte(area), 2);
    check_equal("and stay", *entry & own, own);
    check_equal("as do frame and rights", *entry & (page_frame | rights), (uintptr_t)second | rights);
}

/* Some used before they move and some not, with the invalidations behind all changes. */
static void check_many(void) {
    enum { pages = 100 };
    const uintptr_t many = area + 4 * large_page_size;
    unsigned wrong = 0;
    for (unsigned round = 0; round < 4; ++round) {
        const uint8_t expected = 1 + round % 2;
        for (unsigned i = 0; i < pages; ++i) {
            map_page(many + i * page_size, (uintptr_t)(expected == 1 ? first : second), rights);
        }
        for (unsigned i = 0; i < pages; ++i) {
            flush_page(many + i * page_size);
        }
        for (unsigned i = round; i < pages; i += 1 + round) {
            wrong += read_byte(many + i * page_size) != expected;
        }
    }
    check_equal("pages that are moved again and again: wrong ones", wrong, 0);
    for (unsigned i = 0; i < pages; ++i) {
        set_entry(1, page_entry(many + i * page_size, 1), 0);
        flush_page(many + i * page_size);
        const struct exception exception = load(many + i * page_size);
        wrong += exception.frame.vector != vector_page_fault || exception.cr2 != many + i * page_size;
    }
    check_equal("and unmapped: wrong ones", wrong, 0);
}

/* Two trees that differ in one place: what a kernel does from process to process. */
static void check_trees(void) {
    const uint64_t* const map = (const uint64_t*)(read_cr3() & page_frame);
    const uint64_t* const directory_pointers = (const uint64_t*)(map[0] & page_frame);
    uint64_t* const other_map = allocate_page();
    uint64_t* const other_directory_pointers = allocate_page();
    const uint64_t original = read_cr3();
    other_directory_pointers[0] = directory_pointers[0];
    other_map[0] = (uintptr_t)other_directory_pointers | rights | page_user;
    map_page(area, (uintptr_t)first, rights);
    flush_page(area);
    write_cr3((uintptr_t)other_map);
    struct exception exception = load(area);
    check_exception("another tree: absent", &exception, vector_page_fault, 0, at_instruction);
    map_page(area, (uintptr_t)second, rights);
    check_equal("another tree: mapped", read_byte(area), 2);
    for (unsigned i = 0; i < 3; ++i) {
        write_cr3(original);
        check_equal("back in the first tree", read_byte(area), 1);
        write_cr3((uintptr_t)other_map);
        check_equal("and in the other", read_byte(area), 2);
    }
    write_cr3(original);
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    first = allocate_page();
    second = allocate_page();
    first[0] = 1;
    second[0] = 2;
    second[page_size - 1] = 2;
    check_map();
    check_read_only();
    check_large();
    check_shared_table();
    check_kernels_bits();
    check_many();
    check_trees();
}
