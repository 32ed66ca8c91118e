/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 8
 *
 * Global pages. With CR4.PGE set, a translation from an entry with G outlives a load of CR3, or may: only
 * what is certain is checked. INVLPG drops it, and so does every change of CR4.PGE. The entry keeps the bit.
 */
#include "harness/access.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"

static const uintptr_t area = 0x50000000;

enum {
    rights = page_present | page_writable | page_global,
};

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    uint8_t* const first = allocate_page();
    uint8_t* const second = allocate_page();
    first[0] = 1;
    second[0] = 2;

    write_cr4(read_cr4() | cr4_page_global);
    check_equal("CR4.PGE reads as set", read_cr4() & cr4_page_global, cr4_page_global);
    map_page(area, (uintptr_t)first, rights);
    check_equal("a global page: load", read_byte(area), 1);
    write_cr3(read_cr3());
    check_equal("after CR3 is loaded", read_byte(area), 1);
    check_equal("the entry has G", *page_entry(area, 1) & page_global, page_global);

    map_page(area, (uintptr_t)second, rights);
    flush_page(area);
    check_equal("moved, by INVLPG", read_byte(area), 2);

    map_page(area, (uintptr_t)first, rights);
    write_cr4(read_cr4() & ~(uint64_t)cr4_page_global);
    check_equal("moved, by clearing CR4.PGE", read_byte(area), 1);
    map_page(area, (uintptr_t)second, rights);
    write_cr4(read_cr4() | cr4_page_global);
    check_equal("moved, by setting CR4.PGE", read_byte(area), 2);

    set_entry(1, page_entry(area, 1), 0);
    write_cr4(read_cr4() ^ cr4_page_global);
    write_cr4(read_cr4() ^ cr4_page_global);
    const struct exception exception = load(area);
    check_exception("unmapped, by toggling CR4.PGE", &exception, vector_page_fault, 0, at_instruction);
}
