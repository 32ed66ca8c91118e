// SPDX-License-Identifier: BSD-2-Clause
// The guest's page tables are its own. The VMM takes the one entry that Linux leaves free in them, in the
// page directory that all its address spaces share.
#include "backends/kvm-privileged/domain.hpp"
#include "frontends/x86/page_entry.hpp"
#include "frontends/x86/physical_memory.hpp"
#include "inplace-vmm/stop.hpp"

namespace previrt::kvm_privileged {

namespace {

constexpr std::uint64_t last_entry = entries_per_table - 1;
constexpr std::uint64_t supervisor_table = page_present | page_writable | page_accessed;

std::uint64_t* entry_at(std::uint64_t table) {
    std::uint8_t* const entries = physical_memory(table & frame_mask, page_bytes);
    if (entries == nullptr) {
        stop_guest("a page table lies outside RAM, at", table & frame_mask);
    }
    return reinterpret_cast<std::uint64_t*>(entries) + last_entry;
}

} // namespace

void enter_address_space(std::uint64_t cr3) {
    const std::uint64_t level_3 = *entry_at(cr3);
    const std::uint64_t level_2 = (level_3 & page_present) != 0 ? *entry_at(level_3) : 0;
    if ((level_2 & page_present) == 0 || (level_2 & page_large) != 0) {
        stop_guest("page tables without a directory of the last 2 MiB, CR3", cr3);
    }
    std::uint64_t* const entry = entry_at(level_2);
    if (*entry != 0) {
        stop_guest("page tables with something in the last 2 MiB, CR3", cr3);
    }
    *entry = handover.vmm_level1 | supervisor_table;
}

} // namespace previrt::kvm_privileged
