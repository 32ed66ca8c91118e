// SPDX-License-Identifier: BSD-2-Clause
// The guest's page tables are its own. The VMM takes entries that Linux leaves free in the two tables that
// all its address spaces share: for its image, one in the page directory of the last 2 MiB; for the map of
// all memory, the first ones of the table above.
#include "backends/kvm/privileged/domain.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "frontends/x86/paging/physical_memory.hpp"
#include "inplace-vmm/stop.hpp"

namespace previrt::kvm_privileged {

namespace {

constexpr std::uint64_t last_entry = entries_per_table - 1;
constexpr std::uint64_t supervisor_table = page_present | page_writable | page_accessed;

std::uint64_t* table_at(std::uint64_t entry) {
    std::uint8_t* const entries = physical_memory(entry & frame_mask, page_bytes);
    if (entries == nullptr) {
        stop_guest("a page table lies outside RAM, at", entry & frame_mask);
    }
    return reinterpret_cast<std::uint64_t*>(entries);
}

void take_entry(std::uint64_t& entry, std::uint64_t value, std::uint64_t cr3) {
    if (entry != 0) {
        stop_guest("page tables with a mapping at the VMM's addresses, CR3", cr3);
    }
    entry = value;
}

// The VMM's own table has them first.
void add_map(std::uint64_t* level_3, std::uint64_t cr3) {
    const auto* const own = reinterpret_cast<const std::uint64_t*>(pointer_to(handover.vmm_level3));
    for (unsigned index = 0; index < map_most_tables && own[index] != 0; ++index) {
        take_entry(level_3[index], own[index], cr3);
    }
}

} // namespace

void enter_address_space(std::uint64_t cr3) {
    const std::uint64_t root_entry = table_at(cr3)[last_entry];
    std::uint64_t* const level_3 = (root_entry & page_present) != 0 ? table_at(root_entry) : nullptr;
    const std::uint64_t level_2 = level_3 != nullptr ? level_3[last_entry] : 0;
    if ((level_2 & page_present) == 0 || (level_2 & page_large) != 0) {
        stop_guest("page tables without a directory of the last 2 MiB, CR3", cr3);
    }
    take_entry(table_at(level_2)[last_entry], handover.vmm_level1 | supervisor_table, cr3);
    add_map(level_3, cr3);
}

} // namespace previrt::kvm_privileged
