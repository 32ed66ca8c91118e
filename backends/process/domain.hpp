// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/contract/handover.hpp"
#include "backends/process/contract/layout.hpp"

#include <cstdint>
#include <span>

namespace previrt::process {

extern "C" const Handover handover;

struct Memory {
    std::uint8_t* pool; // of shadow tables
    std::uint32_t table_count;
};
extern Memory memory;

// Frames of the file.
inline std::uint64_t first_guest_frame() {
    return handover.vmm_bytes >> page_shift;
}

std::uint8_t* part_of_vmm(const Part& part);
std::span<const std::uint8_t> package();
// Its memory goes back to the host.
void drop_package();
// Whole pages of zeros for the VMM's own use, at start only.
std::uint8_t* take_memory(std::uint64_t bytes);
bool has_memory(std::uint64_t bytes); // so many to take

void start_domain();
void start_entries();
// Of each host process: what is no memory.
void start_signals();
void start_timer_of_host();
// The current process's timer is for what the guest waits for.
void follow_timer();

// From here on the host does for us what the filter lets through, and nothing else.
void confine();

[[noreturn]] void end_process();

} // namespace previrt::process
