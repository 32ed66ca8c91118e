// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/table_updates.hpp"

#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/print.hpp"
#include "inplace-vmm/stop.hpp"

namespace previrt::xen {

namespace {

constexpr unsigned most_updates = 128;
mmu_update updates[most_updates];
unsigned update_count;
mmuext_op invalidations[most_updates];
unsigned invalidation_count;
bool flush_is_queued;

} // namespace

void extended_operations(mmuext_op* operations, unsigned count) {
    if (count != 0) {
        must_succeed(__HYPERVISOR_mmuext_op, "mmuext_op", address_of(operations), count, 0, DOMID_SELF);
    }
}

void flush_updates() {
    if (update_count != 0) {
        const unsigned count = update_count;
        update_count = 0;
        unsigned done = 0;
        ++counters.hypercalls[__HYPERVISOR_mmu_update];
        const std::int64_t result =
            hypercall(__HYPERVISOR_mmu_update, address_of(updates), count, address_of(&done), DOMID_SELF);
        if (result != 0) {
            const mmu_update& refused = updates[done < count ? done : count - 1];
            Print() << "previrt-vmm: Xen refused to write " << Hex{refused.val} << " to the page table at "
                    << Hex{refused.ptr} << ", the " << done << ". of " << count << ", with error "
                    << static_cast<std::uint64_t>(-result) << '\n';
            stop_guest("Xen refused a page table");
        }
    }
    unsigned count = invalidation_count;
    invalidation_count = 0;
    if (flush_is_queued) {
        flush_is_queued = false;
        invalidations[0] = {};
        invalidations[0].cmd = MMUEXT_TLB_FLUSH_LOCAL;
        count = 1; // replaces the single ones
    }
    extended_operations(invalidations, count);
}

bool updates_are_flushed() {
    return update_count == 0 && invalidation_count == 0 && !flush_is_queued;
}

void queue_update(std::uint64_t place, std::uint64_t value) {
    const std::uint64_t where = place | MMU_NORMAL_PT_UPDATE;
    // Linux clears an entry before it gives it other rights. Xen takes some 1,000 instructions for each
    // write.
    if (update_count != 0 && updates[update_count - 1].ptr == where) {
        updates[update_count - 1].val = value;
        return;
    }
    if (update_count == most_updates) {
        flush_updates();
    }
    updates[update_count++] = {.ptr = where, .val = value};
}

void queue_invalidation(std::uint64_t address) {
    if (invalidation_count == most_updates) {
        flush_updates();
    }
    invalidations[invalidation_count] = {};
    invalidations[invalidation_count].cmd = MMUEXT_INVLPG_LOCAL;
    invalidations[invalidation_count++].arg1.linear_addr = address;
}

void queue_flush() {
    flush_is_queued = true;
}

} // namespace previrt::xen
