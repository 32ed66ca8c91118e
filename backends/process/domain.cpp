// SPDX-License-Identifier: BSD-2-Clause
// The guest's hand-over from the monitor, and the division of its memory.
#include "backends/process/domain.hpp"

#include "backends/common/contract/table_pool.hpp"
#include "backends/process/system_call.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/backend/released_memory.hpp"
#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/site_list.hpp"
#include "inplace-vmm/stop.hpp"

namespace previrt::process {

Memory memory;

namespace {

constexpr std::uint64_t first_address = 0x10000; // below, a host maps nothing for processes without privilege

std::uint64_t free_first;
std::uint64_t free_end;

void unmap(std::uint64_t from, std::uint64_t to) {
    call_host(call_munmap, {.first = from, .second = to - from});
}

void map(std::uint64_t address, std::uint64_t bytes, std::uint32_t flags, std::uint64_t offset) {
    constexpr std::uint32_t all = may_read | may_write | may_execute;
    const bool is_file = (flags & map_anonymous) == 0;
    const std::int64_t got =
        call_host(call_mmap, {.first = address,
                              .second = bytes,
                              .third = all,
                              .fourth = flags | map_fixed,
                              .fifth = static_cast<std::uint64_t>(is_file ? memory_descriptor : -1),
                              .sixth = offset});
    if (got != static_cast<std::int64_t>(address)) {
        stop_guest("the host does not map the guest's memory at", address);
    }
}

// Makes a hole in the file: all processes that map these pages then find zeros.
void remove(std::uint64_t address, std::uint64_t bytes) {
    constexpr std::uint64_t advice = 9; // MADV_REMOVE
    if (call_host(call_madvise, {.first = address, .second = bytes, .third = advice}) != 0) {
        stop_guest("the host does not take memory back, at", address);
    }
}

} // namespace

std::uint8_t* part_of_vmm(const Part& part) {
    return reinterpret_cast<std::uint8_t*>(arena_address + part.offset);
}

std::span<const std::uint8_t> package() {
    return {part_of_vmm(handover.package), handover.package.bytes};
}

void drop_package() {
    const std::uint64_t rounded = (handover.package.bytes + page_size - 1) & ~(page_size - 1);
    remove(address_of(part_of_vmm(handover.package)), rounded);
}

bool has_memory(std::uint64_t bytes) {
    return bytes <= free_end - free_first; // of whole pages
}

std::uint8_t* take_memory(std::uint64_t bytes) {
    const std::uint64_t rounded = (bytes + page_size - 1) & ~(page_size - 1);
    if (!has_memory(bytes)) {
        stop_guest("the monitor gave too little memory for the VMM; bytes wanted:", bytes);
    }
    auto* const taken = reinterpret_cast<std::uint8_t*>(free_first);
    free_first += rounded;
    return taken;
}

void start_domain() {
    unmap(first_address, image_address);
    unmap(image_address + image_room, host_end);
    map(arena_address, handover.vmm_bytes, map_shared, 0);
    map(ram_address, handover.guest_memory, map_shared, handover.vmm_bytes);
    map(private_address, private_bytes, map_private | map_anonymous, 0);
    map(calls_address, calls_bytes, map_private | map_anonymous, 0);
    free_first = arena_address + handover.free.offset;
    free_end = free_first + handover.free.bytes;
    memory.table_count = table_pool::table_count(handover.guest_memory >> page_shift);
    memory.pool = take_memory(std::uint64_t{memory.table_count} * page_size);
}

void confine() {
    constexpr std::uint64_t set_no_new_privileges = 38;
    constexpr std::uint64_t set_filter = 1;
    constexpr std::uint64_t instruction_bytes = 8;
    struct {
        std::uint64_t count;
        std::uint64_t instructions;
    } const filter{.count = handover.filter.bytes / instruction_bytes,
                   .instructions = address_of(part_of_vmm(handover.filter))};
    if (call_host(call_prctl, {.first = set_no_new_privileges, .second = 1}) != 0 ||
        call_host(call_seccomp, {.first = set_filter, .third = address_of(&filter)}) != 0) {
        stop_guest("the host takes no seccomp filter");
    }
}

void end_process() {
    for (;;) {
        call_host(call_exit_group, {});
    }
}

} // namespace previrt::process

namespace previrt::backend {

using namespace process;

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
    remove(ram_address + (first_frame << page_shift), count << page_shift);
}

KernelFaults kernel_faults() {
    return KernelFaults::by_own_stack;
}

} // namespace previrt::backend
