// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/deprivileged/contract/handover.hpp"
#include "backends/kvm/deprivileged/contract/layout.hpp"
#include "backends/kvm/deprivileged/contract/level_0_counts.hpp"
#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>
#include <span>

namespace previrt::kvm {

extern "C" {
extern const Handover handover;
// A function in entry.S that runs at level 0, where one instruction takes KVM longer than hundreds here.
using Level0Function = void();
Level0Function level_0_load_root;
Level0Function level_0_invalidate;
Level0Function level_0_write_cr0;
Level0Function level_0_write_cr4;
Level0Function level_0_read_fault_address;
Level0Function level_0_halt;
}
std::uint64_t call_level_0(Level0Function* function, std::uint64_t argument);

struct Memory {
    std::uint8_t* pool; // the page-table pool
    std::uint32_t table_count;
};
extern Memory memory;

// In the map: guest-physical addresses from ram_base on.
inline std::uint8_t* pointer_to(std::uint64_t physical) {
    return reinterpret_cast<std::uint8_t*>(map_address + (physical - ram_base));
}
inline std::uint64_t physical_of(const void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer) - map_address + ram_base;
}
// backend::flush_entries has nothing to do.
bool entries_are_flushed();
backend::TableNumber loaded_root();      // of the guest's kernel
backend::TableNumber loaded_user_root(); // with --isolate, of user mode
backend::TableNumber loaded_root_of(unsigned processor);
std::uint8_t* part_of_vmm(const Part& part);
std::span<const std::uint8_t> package();
// Gives the package's memory back to the host.
void drop_package();
// Whole zero pages for the VMM's own use. Only at the start.
std::uint8_t* take_memory(std::uint64_t bytes);
bool has_memory(std::uint64_t bytes); // to take

void start_domain();
void start_isolation();
void start_events();
void start_own_events(); // called once there is a root, to which the gates of --isolate lead
void start_entries();
void start_segments();

} // namespace previrt::kvm
