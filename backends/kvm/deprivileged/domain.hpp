// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/deprivileged/contract/handover.hpp"
#include "backends/kvm/deprivileged/contract/layout.hpp"

#include <cstdint>
#include <span>

namespace previrt::kvm {

extern "C" {
extern const Handover handover;
// In entry.S: at level 0, where one instruction takes KVM longer than hundreds here.
using Level0Function = void();
void call_level_0(Level0Function* function, std::uint64_t argument);
void load_root_at_level_0(std::uint64_t root);
Level0Function level_0_invalidate;
Level0Function level_0_write_cr0;
Level0Function level_0_write_cr4;
}

// Where the counters have the calls of level 0, and that of the monitor.
enum Level0Call : std::uint8_t { call_load_root, call_invalidate, call_write_cr0, call_write_cr4, call_wait };

struct Memory {
    std::uint8_t* pool; // of shadow tables
    std::uint32_t table_count;
};
extern Memory memory;

// Of the map: guest-physical addresses from ram_base on.
inline std::uint8_t* pointer_to(std::uint64_t physical) {
    return reinterpret_cast<std::uint8_t*>(map_address + (physical - ram_base));
}
inline std::uint64_t physical_of(const void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer) - map_address + ram_base;
}
// Nothing is queued that backend::flush_entries would do.
bool entries_are_flushed();
std::uint8_t* part_of_vmm(const Part& part);
std::span<const std::uint8_t> package();
// Whole pages of zeros for the VMM's own use, at start only.
std::uint8_t* take_memory(std::uint64_t bytes);
bool has_memory(std::uint64_t bytes); // so many to take

void start_domain();
void start_isolation();
void start_events();
void start_looking(); // once there is a root, which the gates of --isolate lead to
void start_entries();
void start_segments();

} // namespace previrt::kvm
