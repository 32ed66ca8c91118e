/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 2
 *
 * One instruction reads one address again and again, and each time another page lies there, as in a kernel that
 * maps pages in turn to read them, or that makes one process after another. However often: a VMM that maps the
 * page only when the instruction faults must not take this for a loop.
 */
#include "harness/access.h"
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/registers.h"

enum { rounds = 12000 };

static const uintptr_t area = 0x50000000;

void guest(void) {
    load_descriptor_tables();
    load_page_tables();
    uint8_t* const pages[] = {allocate_page(), allocate_page()};
    pages[0][0] = 1;
    pages[1][0] = 2;
    unsigned wrong = 0;
    for (unsigned round = 0; round < rounds; ++round) {
        map_page(area, (uintptr_t)pages[round % 2], page_present | page_writable);
        flush_page(area);
        wrong += read_byte(area) != 1 + round % 2;
    }
    check_equal("pages that were mapped in turn: wrong reads", wrong, 0);
    for (unsigned round = 0; round < rounds; ++round) {
        map_page(area, (uintptr_t)pages[round % 2], page_present | page_writable);
        write_cr3(read_cr3());
        wrong += read_byte(area) != 1 + round % 2;
    }
    check_equal("with CR3 loaded: wrong reads", wrong, 0);
}
