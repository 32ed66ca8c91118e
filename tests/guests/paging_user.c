/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 13
 *
 * What user mode may do with a page: what all levels grant that have U set. Bit 2 of the error code says that
 * user mode was at work, bit 0 that the page was there. The kernel may use user mode's pages (SMAP is off).
 */
#include "harness/access.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"
#include "harness/user.h"

static const uintptr_t area = 0x50000000;

enum {
    rights = page_present | page_writable,
};

extern const char user_load[], user_store[], user_done[];
asm(".pushsection .user, \"aw\"\n"
    "user_load: mov (%rdi), %al\n"
    "	plain int $0x80\n"
    "user_done:\n"
    "user_store: movb $9, (%rdi)\n"
    "	plain int $0x80\n"
    ".popsection");

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    uint8_t* const first = allocate_page();
    first[0] = 1;
    map_page(area, (uintptr_t)first, rights | page_user);
    map_page(area + page_size, (uintptr_t)first, page_present | page_user);
    map_page(area + 2 * page_size, (uintptr_t)first, rights);
    struct exception exception = run_user(user_load, area);
    check_user_exception("user load", &exception, user_exit, 0, user_done);
    check_equal("has the value", exception.frame.rax & 0xff, 1);
    exception = run_user(user_store, area + 32);
    check_equal("user store has stored", first[32], 9);
    check_equal("which the kernel sees there too", read_byte(area + 32), 9);
    exception = run_user(user_store, area + page_size);
    check_user_exception("user store, read-only", &exception, vector_page_fault, 7, user_store);
    exception = run_user(user_load, area + 2 * page_size);
    check_user_exception("user load, supervisor's page", &exception, vector_page_fault, 5, user_load);
    exception = run_user(user_store, area + 2 * page_size);
    check_user_exception("user store, supervisor's page", &exception, vector_page_fault, 7, user_store);
    exception = run_user(user_load, area + 3 * page_size);
    check_user_exception("user load, absent page", &exception, vector_page_fault, 4, user_load);
    check_equal("CR2", exception.cr2, area + 3 * page_size);
    exception = run_user(user_store, area + 3 * page_size);
    check_user_exception("user store, absent page", &exception, vector_page_fault, 6, user_store);
    exception = run_user(user_load, (uintptr_t)first);
    check_user_exception("user load, supervisor's large page", &exception, vector_page_fault, 5, user_load);

    volatile uint64_t* const directory_entry = page_entry(area, 2);
    set_entry(2, directory_entry, *directory_entry & ~(uint64_t)page_user);
    write_cr3(read_cr3());
    exception = run_user(user_load, area);
    check_user_exception("user load, supervisor's by the level above", &exception, vector_page_fault, 5,
                         user_load);
    check_equal("which the kernel may load", read_byte(area), 1);
}
