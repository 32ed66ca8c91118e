// SPDX-License-Identifier: BSD-2-Clause
// The guest's hand-over from the monitor, and the division of its memory.
#include "backends/kvm/deprivileged/domain.hpp"

#include "backends/common/contract/table_pool.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/backend/released_memory.hpp"
#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/site_list.hpp"
#include "inplace-vmm/stop.hpp"

namespace previrt::kvm {

Memory memory;

namespace {

std::uint64_t free_first;
std::uint64_t free_end;

// Pages of the guest's RAM and of the VMM's memory behind it, by number.
void release_pages(std::uint64_t first, std::uint64_t count) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    *reinterpret_cast<volatile std::uint64_t*>(doorbell_address + doorbell_release) = first | (count << 32U);
}

} // namespace

std::uint8_t* part_of_vmm(const Part& part) {
    return pointer_to(handover.vmm_memory + part.offset);
}

std::span<const std::uint8_t> package() {
    return {part_of_vmm(handover.package), handover.package.bytes};
}

void drop_package() {
    const std::uint64_t first = handover.vmm_memory + handover.package.offset - ram_base;
    release_pages(first >> page_shift, (handover.package.bytes + page_size - 1) >> page_shift);
}

bool has_memory(std::uint64_t bytes) {
    return bytes <= free_end - free_first; // of whole pages
}

std::uint8_t* take_memory(std::uint64_t bytes) {
    const std::uint64_t rounded = (bytes + page_size - 1) & ~(page_size - 1);
    if (!has_memory(bytes)) {
        stop_guest("the monitor gave too little memory for the VMM; bytes wanted:", bytes);
    }
    std::uint8_t* const taken = pointer_to(free_first);
    free_first += rounded;
    return taken;
}

void start_domain() {
    free_first = handover.vmm_memory + handover.free.offset;
    free_end = free_first + handover.free.bytes;
    memory.table_count = table_pool::table_count(handover.guest_memory >> page_shift);
    memory.pool = take_memory(std::uint64_t{memory.table_count} * page_size);
}

} // namespace previrt::kvm

namespace previrt::backend {

using namespace kvm;

std::span<KnownSite> memory_for_sites(std::size_t least) {
    const std::uint64_t bytes = std::uint64_t{least} * sizeof(KnownSite);
    if (!has_memory(bytes)) {
        return {};
    }
    return {reinterpret_cast<KnownSite*>(take_memory(bytes)), least};
}

bool can_release_memory() {
    return true;
}

void release_memory(std::uint64_t first_frame, std::uint64_t count) {
    release_pages(first_frame, count);
}

KernelFaults kernel_faults() {
    return KernelFaults::by_own_stack;
}

} // namespace previrt::backend
