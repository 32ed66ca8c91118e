/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 43
 *
 * CR0.WP. While it is clear, CPL 0 writes to read-only pages, the user's as its own, and D is set; while it
 * is set, such a store is #PF. User mode may not write to them either way. A change of WP takes effect
 * without a flush.
 */
#include "harness/access.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"
#include "harness/user.h"

static const uintptr_t area = 0x50000000;

extern const char user_store[];
asm(".pushsection .user, \"aw\"\n"
    "user_store: movb $9, (%rdi)\n"
    "	plain int $0x80\n"
    ".popsection");

static void check_page(uint64_t flags) {
    uint8_t* const page = allocate_page();
    volatile uint64_t* const entry = page_entry(area, 1);
    map_page(area, (uintptr_t)page, flags);
    flush_page(area);
    for (uint8_t i = 1; i < 4; ++i) {
        write_cr0(read_cr0() | cr0_write_protect);
        check_equal("CR0.WP reads as set", read_cr0() & cr0_write_protect, cr0_write_protect);
        struct exception exception = store(area, i);
        check_exception("WP set: store to a read-only page", &exception, vector_page_fault, 3,
                        at_instruction);
        write_cr0(read_cr0() & ~(uint64_t)cr0_write_protect);
        check_equal("CR0.WP reads as clear", read_cr0() & cr0_write_protect, 0);
        exception = store(area, i);
        check_exception("WP clear: the same store", &exception, no_exception, 0, at_instruction);
        check_equal("it has stored", page[0], i);
        check_equal("and set D", *entry & page_dirty, page_dirty);
        check_equal("the entry is still read-only", *entry & page_writable, 0);
    }
    if (flags & page_user) {
        const struct exception exception = run_user(user_store, area);
        check_user_exception("WP clear: a user's store", &exception, vector_page_fault, 7, user_store);
    }
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    check_page(page_present);
    check_page(page_present | page_user);
}
