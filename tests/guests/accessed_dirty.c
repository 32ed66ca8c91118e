/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 36
 *
 * Accessed and dirty bits. The processor sets A in every entry that a translation uses, and D in the leaf
 * when it is written to. It never clears them: a kernel does, and after INVLPG (or a CR3 load) they are set
 * anew. A store that faults leaves D alone.
 */
#include "harness/access.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"
#include "harness/user.h"

#include <previrt/annotate.h>

static const uintptr_t area = 0x50000000;

enum {
    rights = page_present | page_writable,
};

static const uint64_t both = page_accessed | page_dirty;

static void check_leaf(void) {
    volatile uint64_t* const entry = page_entry(area, 1);
    map_page(area, (uintptr_t)allocate_page(), rights);
    check_equal("both are clear at first", *entry & both, 0);
    read_byte(area);
    check_equal("a load sets A", *entry & both, page_accessed);
    write_byte(area, 1);
    check_equal("a store sets D", *entry & both, both);

    check("A is cleared: it was set", previrt_page_table_test_and_clear_bit(PREVIRT_PTE, entry, 5));
    flush_page(area);
    check_equal("and is clear", *entry & both, page_dirty);
    check("clearing it again: it was not", !previrt_page_table_test_and_clear_bit(PREVIRT_PTE, entry, 5));
    read_byte(area);
    check_equal("a load sets it anew", *entry & both, both);

    previrt_page_table_clear_bit(PREVIRT_PTE, entry, 6);
    flush_page(area);
    read_byte(area);
    check_equal("D is cleared: a load leaves it", *entry & both, page_accessed);
    write_byte(area, 2);
    check_equal("a store sets it anew", *entry & both, both);

    for (unsigned i = 0; i < 3; ++i) {
        set_entry(1, entry, *entry & ~both);
        write_cr3(read_cr3());
        check_equal("both are cleared by a store and a load of CR3", *entry & both, 0);
        write_byte(area, 3);
        check_equal("a store sets both", *entry & both, both);
    }

    const uint64_t old = previrt_page_table_exchange(PREVIRT_PTE, entry, 0);
    flush_page(area);
    check_equal("an exchange gives them", old & both, both);
    uint64_t expected = 0;
    check("compare-exchange stores",
          previrt_page_table_try_compare_exchange(PREVIRT_PTE, entry, &expected, old & ~both));
    write_byte(area, 4);
    expected = old & ~both;
    check("compare-exchange sees that D was set",
          !previrt_page_table_try_compare_exchange(PREVIRT_PTE, entry, &expected, 0));
    check_equal("and gives the entry", expected, old);
}

static void check_read_modify_write(void) {
    volatile uint64_t* const entry = page_entry(area, 1);
    set_entry(1, entry, *entry & ~both);
    flush_page(area);
    asm volatile("lock incl (%[where])" : : [where] "r"((uintptr_t)area) : "memory", "cc");
    check_equal("a read-modify-write sets both", *entry & both, both);
}

static void check_read_only(void) {
    volatile uint64_t* const entry = page_entry(area, 1);
    write_cr0(read_cr0() | cr0_write_protect);
    set_entry(1, entry, (*entry & page_frame) | page_present);
    flush_page(area);
    const struct exception exception = store(area, 1);
    check_exception("store to a read-only page", &exception, vector_page_fault, 3, at_instruction);
    check_equal("leaves D clear", *entry & page_dirty, 0);
}

static void check_levels(void) {
    const uintptr_t address = area + 0x40000000;
    page_entry(address, 1);
    map_page(address, (uintptr_t)allocate_page(), rights);
    check_equal("level 2: A is clear at first", *page_entry(address, 2) & page_accessed, 0);
    check_equal("level 3: A is clear at first", *page_entry(address, 3) & page_accessed, 0);
    read_byte(address);
    check_equal("level 2: a load sets A", *page_entry(address, 2) & page_accessed, page_accessed);
    check_equal("level 3: a load sets A", *page_entry(address, 3) & page_accessed, page_accessed);
    check_equal("level 4: A is set", *page_entry(address, 4) & page_accessed, page_accessed);
    check_equal("level 2: bit 6 stays clear", *page_entry(address, 2) & page_dirty, 0);
}

static void check_large(void) {
    const uintptr_t address = area + 0x10000000;
    const uintptr_t frame = (uintptr_t)allocate_page();
    volatile uint64_t* const entry = page_entry(address, 2);
    set_entry(2, entry, (frame & ~(uint64_t)(large_page_size - 1)) | rights | page_large);
    const uintptr_t there = address + frame % large_page_size;
    read_byte(there);
    check_equal("large page: a load sets A", *entry & both, page_accessed);
    write_byte(there, 1);
    check_equal("large page: a store sets D", *entry & both, both);
    set_entry(2, entry, *entry & ~both);
    flush_page(there);
    write_byte(there + 1, 1);
    check_equal("large page: both are set anew", *entry & both, both);
}

static void check_fetch(void) {
    static const uint8_t return_instruction = 0xc3;
    uint8_t* const code = allocate_page();
    volatile uint64_t* const entry = page_entry(area + page_size, 1);
    code[0] = return_instruction;
    map_page(area + page_size, (uintptr_t)code, rights);
    const struct exception exception = execute(area + page_size);
    check_exception("a call of code in the page", &exception, no_exception, 0, at_instruction);
    check_equal("sets A", *entry & both, page_accessed);
}

extern const char user_load[], user_store[];
asm(".pushsection .user, \"aw\"\n"
    "user_load: mov (%rdi), %al\n"
    "	plain int $0x80\n"
    "user_store: movb $9, (%rdi)\n"
    "	plain int $0x80\n"
    ".popsection");

static void check_user(void) {
    const uintptr_t address = area + 2 * page_size;
    volatile uint64_t* const entry = page_entry(address, 1);
    map_page(address, (uintptr_t)allocate_page(), rights | page_user);
    run_user(user_load, address);
    check_equal("a user's load sets A", *entry & both, page_accessed);
    run_user(user_store, address);
    check_equal("a user's store sets D", *entry & both, both);
    set_entry(1, entry, *entry & ~both);
    flush_page(address);
    run_user(user_load, address);
    check_equal("a user's load sets A anew", *entry & both, page_accessed);
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    check_leaf();
    check_read_modify_write();
    check_fetch();
    check_user();
    check_large();
    check_levels();
    check_read_only();
}
