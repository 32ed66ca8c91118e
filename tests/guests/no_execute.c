/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 18
 *
 * Bit 63 of an entry forbids to fetch instructions, once EFER.NXE is set; the error code of a fetch then has
 * bit 4. NX at any level counts.
 */
#include "harness/access.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"
#include "harness/user.h"

static const uintptr_t area = 0x50000000;

enum {
    rights = page_present | page_writable | page_user,
    return_instruction = 0xc3,
};

extern const char user_jump[];
asm(".pushsection .user, \"aw\"\n"
    "user_jump: jmp *%rdi\n"
    ".popsection");

static void check_fetch_fault(const char* what, struct exception exception, uint64_t error_code) {
    check_exception(what, &exception, vector_page_fault, error_code, elsewhere);
    check_equal("RIP", exception.frame.rip, area);
    check_equal("CR2", exception.cr2, area);
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    write_msr(msr_efer, read_msr(msr_efer) | efer_no_execute_enable);
    check_equal("EFER.NXE reads as set", read_msr(msr_efer) & efer_no_execute_enable, efer_no_execute_enable);
    uint8_t* const page = allocate_page();
    page[0] = return_instruction;

    check_fetch_fault("fetch from an absent page", execute(area), 0x10);
    map_page(area, (uintptr_t)page, rights | page_no_execute);
    check_equal("NX: load", read_byte(area), return_instruction);
    write_byte(area + 1, 7);
    check_equal("NX: store", page[1], 7);
    check_fetch_fault("NX: fetch", execute(area), 0x11);
    check_fetch_fault("NX: a user's fetch", run_user(user_jump, area), 0x15);
    check_equal("the entry has NX", *page_entry(area, 1) & page_no_execute, page_no_execute);

    map_page(area, (uintptr_t)page, rights);
    flush_page(area);
    struct exception exception = execute(area);
    check_exception("without NX: fetch", &exception, no_exception, 0, at_instruction);

    volatile uint64_t* const directory_entry = page_entry(area, 2);
    set_entry(2, directory_entry, *directory_entry | page_no_execute);
    write_cr3(read_cr3());
    check_fetch_fault("NX one level above: fetch", execute(area), 0x11);
    set_entry(2, directory_entry, *directory_entry & ~page_no_execute);
    write_cr3(read_cr3());
    exception = execute(area);
    check_exception("without it: fetch", &exception, no_exception, 0, at_instruction);
}
