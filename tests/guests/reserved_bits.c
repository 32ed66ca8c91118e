/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 11
 *
 * Reserved bits of present entries: any access through them is #PF with bits 0 and 3 of the error code,
 * whatever the rights. Of those, the ones reserved on every processor: bit 63 while EFER.NXE is clear, the
 * low frame bits of a large page, bit 7 at level 4. In an entry that is not present no bit means anything.
 *
 * Bit 0 of the error code is not looked at: QEMU 7.2 leaves it clear.
 */
#include "harness/access.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"

static const uintptr_t area = 0x50000000;
static const uintptr_t large_area = 0x60000000;
static const uintptr_t far_area = UINT64_C(0x8000000000); /* the second entry of level 4 */

enum {
    rights = page_present | page_writable,
    load_error = 8,
    store_error = 8 | 2,
};

static void check_fault(const char* what, struct exception exception, uint64_t error_code) {
    exception.frame.error_code &= ~(uint64_t)1;
    check_exception(what, &exception, vector_page_fault, error_code, at_instruction);
}

static void check_no_execute_reserved(uintptr_t frame) {
    map_page(area, frame, rights | page_no_execute);
    check_fault("bit 63 without NXE: load", load(area + 4), load_error);
    check_equal("CR2", last_exception.cr2, area + 4);
    check_fault("bit 63 without NXE: store", store(area, 1), store_error);
    map_page(area, frame, rights);
    flush_page(area);
    check_equal("without the bit", read_byte(area), 1);
}

static void check_large(uintptr_t frame) {
    volatile uint64_t* const entry = page_entry(large_area, 2);
    const uint64_t good = (frame & ~(uint64_t)(large_page_size - 1)) | rights | page_large;
    set_entry(2, entry, good | 1 << 13);
    check_fault("bit 13 of a large page: load", load(large_area), load_error);
    set_entry(2, entry, good | 1 << 20);
    flush_page(large_area);
    check_fault("bit 20 of a large page: store", store(large_area, 1), store_error);
    set_entry(2, entry, good);
    flush_page(large_area);
    check_equal("without them", read_byte(large_area + frame % large_page_size), 1);
}

static void check_top_level(uintptr_t frame) {
    map_page(far_area, frame, rights);
    volatile uint64_t* const entry = page_entry(far_area, 4);
    const uint64_t good = *entry;
    set_entry(4, entry, good | page_large);
    check_fault("bit 7 at level 4: load", load(far_area), load_error);
    set_entry(4, entry, good);
    write_cr3(read_cr3());
    check_equal("without it", read_byte(far_area), 1);
}

static void check_absent(void) {
    set_entry(1, page_entry(area, 1), ~(uint64_t)page_present);
    flush_page(area);
    const struct exception exception = load(area);
    check_exception("all bits but P: load", &exception, vector_page_fault, 0, at_instruction);
    check_equal("they stay", *page_entry(area, 1), ~(uint64_t)page_present);
}

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    uint8_t* const page = allocate_page();
    page[0] = 1;
    check_no_execute_reserved((uintptr_t)page);
    check_large((uintptr_t)page);
    check_top_level((uintptr_t)page);
    check_absent();
}
