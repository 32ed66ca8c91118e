// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/host_ranges.hpp"

#include "backends/process/address_space_processes.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/system_call.hpp"
#include "backends/process/user_mode/calls.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/stop.hpp"

namespace previrt::process {

namespace {

bool unmap(std::uint64_t from, std::uint64_t to) {
    ++counters.hypercalls[call_unmap];
    count_crossing(call_unmap);
    forget_user_calls(from, to - from);
    return call_host(process::call_munmap, {.first = from, .second = to - from}) == 0;
}

bool protect(std::uint64_t address, std::uint64_t bytes, std::uint32_t protection) {
    ++counters.hypercalls[call_protect];
    count_crossing(call_protect);
    return call_host(process::call_mprotect, {.first = address, .second = bytes, .third = protection}) == 0;
}

// No fault would map the RAM again.
bool is_ram(std::uint64_t address) {
    return address - ram_address < most_ram;
}

bool change(std::uint64_t address, std::uint64_t bytes, std::uint32_t protection) {
    return (protection != 0 && protect(address, bytes, protection)) ||
           (!is_ram(address) && unmap(address, address + bytes));
}

void empty(std::uint64_t from, std::uint64_t to) {
    if (!unmap(from, to)) {
        stop_guest("the host does not unmap the guest's memory from", from);
    }
}

} // namespace

std::uint32_t protection_of(std::uint64_t entry) {
    return may_read | ((entry & page_writable) != 0 ? may_write : 0U) |
           ((entry & page_no_execute) == 0 ? may_execute : 0U);
}

Mapped map_range(std::uint64_t address, std::uint64_t bytes, std::uint64_t entry) {
    // Otherwise the host would fault in turn at the first use. More might allocate memory that nobody has
    // touched.
    constexpr std::uint64_t most_in_advance = 16 * page_size;
    const std::uint64_t in_advance = bytes <= most_in_advance ? std::uint64_t{map_populate} : 0;
    const std::int64_t got = call_host(process::call_mmap, {.first = address,
                                                            .second = bytes,
                                                            .third = protection_of(entry),
                                                            .fourth = map_shared | map_fixed | in_advance,
                                                            .fifth = memory_descriptor,
                                                            .sixth = machine_frame_in(entry) << page_shift});
    constexpr std::int64_t not_permitted = -1;
    constexpr std::int64_t access_denied = -13;
    if (got == static_cast<std::int64_t>(address)) {
        return Mapped::done;
    }
    return got == not_permitted || got == access_denied ? Mapped::refused : Mapped::failed;
}

void change_range(std::uint64_t address, std::uint64_t bytes, std::uint32_t protection) {
    if (change(address, bytes, protection)) {
        return;
    }
    empty_users_part();
    if (change(address, bytes, protection)) {
        return;
    }
    empty_kernels_part();
    if (!change(address, bytes, protection)) {
        stop_guest("the host does not change the mapping of the guest's memory at", address);
    }
}

void empty_users_part() {
    empty(0, kernel_address);
    empty(modules_end, user_end);
    current_host().mapped_ranges = 0;
}

void empty_kernels_part() {
    empty(modules_address, modules_end);
    empty(mapped_slot_address, host_end);
}

} // namespace previrt::process
