/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 7
 *
 * 400 address spaces that share 64 pages, each with tables of its own. All see what one has written. A page
 * that one of them replaces, protects or takes away is so for that one alone, and bits are set in its tables
 * alone.
 */
#include "harness/access.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/exceptions.h"
#include "harness/paging.h"
#include "harness/registers.h"

enum {
    roots = 400,
    pages = 64,
    own_page = 20, /* the page that some of them replace */
    rights = page_present | page_writable,
    seen = page_accessed | page_dirty,
    most_levels = 4,
};

static const uintptr_t area = UINT64_C(0x8000000000); /* the second slot of a root */
static const uintptr_t tables = 0x2000000;            /* of each root: levels 4, 3, 2, 1 */
static const uintptr_t data = 0x1800000;
static const uintptr_t own_data = 0x1900000;

static uintptr_t table_of(uint64_t root, unsigned level) {
    return tables + (root * most_levels + (most_levels - level)) * page_size;
}

static uintptr_t address_of(uint64_t page) {
    return area + page * page_size;
}

static volatile uint64_t* entry_of(uint64_t root, uint64_t page) {
    return (volatile uint64_t*)(table_of(root, 1) + page * sizeof(uint64_t));
}

static void make_root(uint64_t root, uint64_t first_entry) {
    for (unsigned level = 1; level <= most_levels; ++level) {
        volatile uint64_t* const table = (volatile uint64_t*)table_of(root, level);
        for (unsigned i = 0; i < page_size / sizeof(uint64_t); ++i) {
            table[i] = 0;
        }
    }
    for (uint64_t page = 0; page < pages; ++page) {
        *entry_of(root, page) = (data + page * page_size) | rights;
    }
    *(volatile uint64_t*)table_of(root, 2) = table_of(root, 1) | rights;
    *(volatile uint64_t*)table_of(root, 3) = table_of(root, 2) | rights;
    ((volatile uint64_t*)table_of(root, 4))[0] = first_entry;
    ((volatile uint64_t*)table_of(root, 4))[1] = table_of(root, 3) | rights;
}

static void enter(uint64_t root) {
    write_cr3(table_of(root, 4));
}

/* Of the pages that this one looks at. */
static unsigned wrong_pages(uint64_t root, uint64_t step) {
    unsigned wrong = 0;
    for (uint64_t page = root % step; page < pages; page += step) {
        wrong += page != own_page && read_byte(address_of(page)) != (uint8_t)(page * 3);
    }
    return wrong;
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    write_cr0(read_cr0() | cr0_write_protect);
    const uintptr_t first_root = read_cr3();
    const uint64_t first_entry = *(volatile uint64_t*)(first_root & page_frame);
    for (uint64_t page = 0; page < pages; ++page) {
        *(volatile uint8_t*)(data + page * page_size) = (uint8_t)(page * 3);
    }
    for (uint64_t root = 0; root < roots; ++root) {
        make_root(root, first_entry);
    }

    unsigned wrong = 0;
    for (uint64_t root = 0; root < roots; ++root) {
        enter(root);
        wrong += wrong_pages(root, 8);
        write_byte(address_of(root % pages) + 8 + root / pages, (uint8_t)root);
    }
    check_equal("read in each address space: wrong ones", wrong, 0);

    wrong = 0;
    for (uint64_t root = roots; root-- > 0;) {
        const uint64_t other = root * 7 % roots;
        enter(root);
        wrong += read_byte(address_of(other % pages) + 8 + other / pages) != (uint8_t)other;
    }
    check_equal("written in another one: wrong ones", wrong, 0);

    wrong = 0;
    for (uint64_t root = 0; root < roots; ++root) {
        for (uint64_t page = 0; page < pages; ++page) {
            const uint64_t bits = *entry_of(root, page) & seen;
            const int is_read = page % 8 == root % 8 && page != own_page;
            const uint64_t other = root * 7 % roots;
            const uint64_t expected = page == root % pages               ? seen
                                      : is_read || page == other % pages ? page_accessed
                                                                         : 0;
            wrong += bits != expected;
        }
    }
    check_equal("accessed and dirty bits: wrong ones", wrong, 0);

    for (uint64_t root = 0; root < roots; root += 3) {
        *(volatile uint8_t*)(own_data + root * page_size) = (uint8_t)(root + 1);
        set_entry(1, entry_of(root, own_page), (own_data + root * page_size) | rights);
    }
    wrong = 0;
    for (uint64_t root = 0; root < roots; ++root) {
        enter(root);
        const uint8_t expected = root % 3 == 0 ? (uint8_t)(root + 1) : own_page * 3;
        wrong += read_byte(address_of(own_page)) != expected;
    }
    check_equal("replaced in some: wrong ones", wrong, 0);

    for (uint64_t root = 0; root < roots; root += 2) {
        set_entry(1, entry_of(root, 1), (data + page_size) | page_present);
    }
    wrong = 0;
    for (uint64_t root = 0; root < roots; ++root) {
        enter(root);
        const struct exception exception = store(address_of(1) + 100, (uint8_t)root);
        wrong += exception.frame.vector != (root % 2 == 0 ? vector_page_fault : no_exception);
        wrong += root > 0 && read_byte(address_of(1) + 100) != (uint8_t)(root % 2 == 0 ? root - 1 : root);
    }
    check_equal("protected in some: wrong ones", wrong, 0);

    for (uint64_t root = 0; root < roots; root += 5) {
        set_entry(1, entry_of(root, 2), 0);
    }
    wrong = 0;
    for (uint64_t root = 0; root < roots; ++root) {
        enter(root);
        const struct exception exception = load(address_of(2));
        wrong += exception.frame.vector != (root % 5 == 0 ? vector_page_fault : no_exception);
    }
    check_equal("taken away in some: wrong ones", wrong, 0);

    wrong = 0;
    for (uint64_t root = 0; root < roots; ++root) {
        enter(root);
        wrong += root % 5 != 0 ? wrong_pages(root, 16) : 0;
    }
    check_equal("the others are whole: wrong ones", wrong, 0);
    write_cr3(first_root);
}
