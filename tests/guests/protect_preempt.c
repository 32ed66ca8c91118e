/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 2
 *
 * A kernel takes the right to write from pages of user mode while the timer interrupts both: user mode may
 * not write there from then on. The other pages change so often that a VMM may forget what it has mapped.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/paging.h"
#include "harness/pic.h"
#include "harness/registers.h"
#include "harness/timer.h"
#include "harness/user.h"

enum {
    period = 119, /* 0.1 ms */
    rounds = 1000,
    others = 128,
    rights = page_present | page_writable | page_user,
};

static const uintptr_t area = 0x50000000; /* untouched page, written page, others */
static const uintptr_t data = 0x1800000;

extern const char user_store[], user_stored[];
asm(".pushsection .user, \"aw\"\n"
    "user_store: movb $9, (%rdi)\n"
    "	plain int $0x80\n"
    "user_stored:\n"
    ".popsection");

static void tick(struct frame* frame) {
    (void)frame;
    end_of_interrupt(0);
}

static void change_rights(unsigned page, uint64_t flags) {
    volatile uint64_t* const entry = page_entry(area + page * page_size, 1);
    const uint64_t kept = page_frame | page_accessed | page_dirty | page_no_execute;
    set_entry(1, entry, (*entry & kept) | flags);
    flush_page(area + page * page_size);
}

static bool stores(unsigned page) {
    const struct exception exception = run_user(user_store, area + page * page_size);
    return exception.frame.vector == user_exit && exception.frame.rip == user_address(user_stored);
}

void guest(void) {
    load_descriptor_tables();
    prepare_user();
    write_cr0(read_cr0() | cr0_write_protect);
    write_msr(msr_efer, read_msr(msr_efer) | efer_no_execute_enable);
    quiet_timer();
    handlers[first_irq_vector] = tick;
    unmask_irq(0);
    unsigned refused = 0;
    for (unsigned page = 0; page < 2 + others; ++page) {
        map_page(area + page * page_size, data + page * page_size, rights | page_no_execute);
        refused += !stores(page);
    }
    start_periodic(period);
    unsigned allowed = 0;
    for (unsigned round = 0; round < rounds; ++round) {
        change_rights(0, rights);
        change_rights(1, rights);
        for (unsigned page = 3; page < 2 + others; page += 2) {
            change_rights(page, round % 2 != 0 ? rights : rights & ~page_writable);
        }
        refused += !stores(1);
        change_rights(0, rights & ~page_writable);
        change_rights(1, rights & ~page_writable);
        allowed += stores(1);
    }
    check_equal("writes to writable pages that faulted", refused, 0);
    check_equal("writes to others that did not", allowed, 0);
}
