/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 21
 *
 * Stores to live page tables by instructions that no record names: of every width, by string instructions,
 * and through another mapping of the table. A processor does not care which instruction changed an entry, so
 * neither may a VMM. And a page that was a table once is memory like any other again.
 */
#include "harness/access.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"

static const uintptr_t area = 0x50000000;
static const uintptr_t window = 0x58000000; /* where a table is mapped once more */

enum {
    rights = page_present | page_writable,
    entries = 512,
};

static uint8_t* pages[3];

static void check_page(const char* what, uint8_t expected) {
    flush_page(area);
    check_equal(what, read_byte(area), expected);
}

static void check_widths(void) {
    volatile uint64_t* const entry = page_entry(area, 1);
    const uint64_t first = (uintptr_t)pages[0] | rights;
    const uint64_t second = (uintptr_t)pages[1] | rights;
    uint64_t value = first;
    asm volatile("mov %[value], %[entry]" : [entry] "=m"(*entry) : [value] "r"(value));
    check_page("movq", 1);
    asm volatile("movl %k[value], %[entry]" : [entry] "+m"(*entry) : [value] "r"(second));
    check_page("movl", 2);
    for (unsigned byte = 0; byte < 8; ++byte) {
        ((volatile uint8_t*)entry)[byte] = (uint8_t)(first >> 8 * byte);
    }
    check_page("movb, eight times", 1);
    asm volatile("movw %w[value], 1(%[entry])" : : [value] "r"(second >> 8), [entry] "r"(entry) : "memory");
    check_page("movw, not aligned", 2);
    value = first;
    asm volatile("xchg %[value], %[entry]" : [value] "+r"(value), [entry] "+m"(*entry));
    check_page("xchg", 1);
    check_equal("and gave the old frame", value & page_frame, (uintptr_t)pages[1]);
    asm volatile("xorq %[value], %[entry]" : [entry] "+m"(*entry) : [value] "r"(first ^ second) : "cc");
    check_page("xor", 2);
    asm volatile("lock andq $~1, %[entry]" : [entry] "+m"(*entry) : : "cc");
    flush_page(area);
    const struct exception exception = load(area);
    check_exception("lock and: not present", &exception, vector_page_fault, 0, at_instruction);
    asm volatile("lock btsq $0, %[entry]" : [entry] "+m"(*entry) : : "cc");
    check_page("lock bts: present", 2);
    asm volatile("lock addq %[value], %[entry]" : [entry] "+m"(*entry) : [value] "r"(first - second) : "cc");
    check_page("lock add", 1);
}

static void check_strings(void) {
    static uint64_t image[entries];
    volatile uint64_t* const table = (volatile uint64_t*)((uintptr_t)page_entry(area, 1) & page_frame);
    volatile uint64_t* to = table;
    uint64_t count = entries;
    asm volatile("rep stosq" : "+D"(to), "+c"(count) : "a"((uintptr_t)pages[2] | rights) : "memory");
    check_page("rep stosq of a table", 3);
    check_equal("its last entry", read_byte(area + (entries - 1) * page_size), 3);
    for (unsigned i = 0; i < entries; ++i) {
        image[i] = (uintptr_t)pages[i % 3] | rights;
    }
    const uint64_t* from = image;
    to = table;
    count = entries;
    asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    write_cr3(read_cr3());
    bool good = true;
    for (unsigned i = 0; i < entries; ++i) {
        good = good && read_byte(area + i * page_size) == i % 3 + 1;
    }
    check("rep movsq of a table: every entry", good);
}

static void check_upper_levels(void) {
    uint64_t* const table = allocate_page();
    table[0] = (uintptr_t)pages[2] | rights;
    *page_entry(area, 2) = (uintptr_t)table | rights;
    write_cr3(read_cr3());
    check_equal("level 2, stored to", read_byte(area), 3);
    const uint64_t old = *page_entry(area, 3);
    *page_entry(area, 3) = 0;
    write_cr3(read_cr3());
    struct exception exception = load(area);
    check_exception("level 3, cleared", &exception, vector_page_fault, 0, at_instruction);
    *page_entry(area, 3) = old;
    check_equal("level 3, restored", read_byte(area), 3);
}

static void check_window(void) {
    volatile uint64_t* const table = (volatile uint64_t*)((uintptr_t)page_entry(area, 1) & page_frame);
    map_page(window, (uintptr_t)table, rights);
    volatile uint64_t* const seen = (volatile uint64_t*)window;
    seen[0] = (uintptr_t)pages[0] | rights;
    check_page("through another mapping", 1);
    check_equal("which shows A as the tables do", seen[0], table[0]);
    check_equal("and it is set", seen[0] & page_accessed, page_accessed);
}

static void check_reuse(void) {
    volatile uint64_t* const table = (volatile uint64_t*)((uintptr_t)page_entry(area, 1) & page_frame);
    set_entry(2, page_entry(area, 2), 0);
    write_cr3(read_cr3());
    bool good = true;
    for (unsigned i = 0; i < entries; ++i) {
        table[i] = 0x0101010101010101 * (i & 0xff);
    }
    for (unsigned i = 0; i < entries; ++i) {
        good = good && table[i] == 0x0101010101010101 * (i & 0xff);
    }
    check("a table is memory again", good);
    for (unsigned i = 0; i < entries; ++i) {
        table[i] = i ? 0 : (uintptr_t)pages[1] | rights;
    }
    set_entry(2, page_entry(area, 2), (uintptr_t)table | rights);
    check_page("and a table again", 2);
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    for (unsigned i = 0; i < 3; ++i) {
        pages[i] = allocate_page();
        pages[i][0] = (uint8_t)(i + 1);
    }
    check_widths();
    check_strings();
    check_upper_levels();
    check_window();
    check_reuse();
}
