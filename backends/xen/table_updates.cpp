// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/table_updates.hpp"

#include "backends/xen/layout.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/print.hpp"
#include "inplace-vmm/stop.hpp"

#include <utility>

namespace previrt::xen {

namespace {

// At the end of a process Linux clears every entry before it frees the tables: those updates are then
// forgotten if they are still here.
constexpr unsigned most_updates = 512;
constexpr unsigned most_others = 128;

template <unsigned most>
struct Queue {
    mmu_update entries[most];
    unsigned count;

    [[nodiscard]] bool is_full() const { return count == most; }
    void add(std::uint64_t place, std::uint64_t value) {
        entries[count++] = {.ptr = place | MMU_NORMAL_PT_UPDATE, .val = value};
    }
};

Queue<most_others> first_updates;
Queue<most_updates> updates;
Queue<most_others> last_updates;
mmuext_op pins[most_others];
unsigned pin_count;
mmuext_op invalidations[most_others];
unsigned invalidation_count;
bool flush_is_queued;
bool flush_everywhere_is_queued;
std::uint64_t batch = 1;
bool something_is_queued;

template <unsigned most>
void send(Queue<most>& queue) {
    const unsigned count = queue.count;
    if (count == 0) {
        return;
    }
    queue.count = 0;
    unsigned done = 0;
    ++counters.hypercalls[__HYPERVISOR_mmu_update];
    count_crossing(__HYPERVISOR_mmu_update);
    const std::int64_t result =
        hypercall(__HYPERVISOR_mmu_update, address_of(queue.entries), count, address_of(&done), DOMID_SELF);
    if (result != 0) {
        const mmu_update& refused = queue.entries[done < count ? done : count - 1];
        Print() << "previrt-vmm: Xen refused to write " << Hex{refused.val} << " to the page table at "
                << Hex{refused.ptr} << ", the " << done << ". of " << count << ", with error "
                << static_cast<std::uint64_t>(-result) << '\n';
        stop_guest("Xen refused a page table");
    }
}

template <unsigned most>
void enqueue(Queue<most>& queue, std::uint64_t place, std::uint64_t value) {
    if (queue.is_full()) {
        flush_updates();
    }
    queue.add(place, value);
    something_is_queued = true;
}

} // namespace

void extended_operations(mmuext_op* operations, unsigned count) {
    if (count != 0) {
        must_succeed(__HYPERVISOR_mmuext_op, "mmuext_op", address_of(operations), count, 0, DOMID_SELF);
    }
}

void flush_updates() {
    if (!something_is_queued) {
        return;
    }
    something_is_queued = false;
    batch += first_updates.count != 0 ? 1 : 0;
    send(first_updates);
    send(updates);
    send(last_updates);
    extended_operations(pins, std::exchange(pin_count, 0));
    unsigned count = invalidation_count;
    invalidation_count = 0;
    if (flush_is_queued || flush_everywhere_is_queued) {
        invalidations[0] = {};
        invalidations[0].cmd = flush_everywhere_is_queued ? MMUEXT_TLB_FLUSH_ALL : MMUEXT_TLB_FLUSH_LOCAL;
        flush_is_queued = false;
        flush_everywhere_is_queued = false;
        count = 1; // replaces the single ones
    }
    extended_operations(invalidations, count);
}

bool updates_are_flushed() {
    return !something_is_queued;
}

std::uint64_t update_batch() {
    return batch;
}

void queue_update(std::uint64_t place, std::uint64_t value) {
    // Linux clears an entry before it gives it other rights. Xen takes some 1,000 instructions for each
    // write.
    if (updates.count != 0 && updates.entries[updates.count - 1].ptr == (place | MMU_NORMAL_PT_UPDATE)) {
        updates.entries[updates.count - 1].val = value;
        return;
    }
    enqueue(updates, place, value);
}

void queue_first_update(std::uint64_t place, std::uint64_t value) {
    enqueue(first_updates, place, value);
}

void queue_last_update(std::uint64_t place, std::uint64_t value) {
    enqueue(last_updates, place, value);
}

void forget_updates_of(std::uint64_t table) {
    unsigned kept = 0;
    for (unsigned i = 0; i < updates.count; ++i) {
        if (updates.entries[i].ptr >> page_shift != table >> page_shift) {
            updates.entries[kept++] = updates.entries[i];
        }
    }
    updates.count = kept;
}

void queue_pin(std::uint64_t frame) {
    if (pin_count == most_others) {
        flush_updates();
    }
    pins[pin_count] = {};
    pins[pin_count].cmd = MMUEXT_PIN_L4_TABLE;
    pins[pin_count++].arg1.mfn = frame;
    something_is_queued = true;
}

void queue_invalidation(std::uint64_t address) {
    if (invalidation_count == most_others) {
        flush_updates();
    }
    invalidations[invalidation_count] = {};
    invalidations[invalidation_count].cmd = MMUEXT_INVLPG_LOCAL;
    invalidations[invalidation_count++].arg1.linear_addr = address;
    something_is_queued = true;
}

void queue_flush() {
    flush_is_queued = true;
    something_is_queued = true;
}

void queue_flush_everywhere() {
    flush_everywhere_is_queued = true;
    something_is_queued = true;
}

} // namespace previrt::xen
