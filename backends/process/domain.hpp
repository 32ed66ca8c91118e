// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/contract/handover.hpp"
#include "backends/process/contract/layout.hpp"

#include <cstdint>
#include <span>

namespace previrt::process {

extern "C" const Handover handover;

struct Memory {
    std::uint8_t* pool; // the page-table pool
    std::uint32_t table_count;
};
extern Memory memory;

// Frame numbers of the file.
inline std::uint64_t first_guest_frame() {
    return handover.vmm_bytes >> page_shift;
}

std::uint8_t* part_of_vmm(const Part& part);
std::span<const std::uint8_t> package();
// Gives the package's memory back to the host.
void drop_package();
// Whole zero pages for the VMM's own use. Only at the start.
std::uint8_t* take_memory(std::uint64_t bytes);
bool has_memory(std::uint64_t bytes); // to take

void start_domain();
void start_entries();
// Set up the state of a host process that is not memory: its signals, its timer.
void start_signals();
void start_timer_of_host();
// Sets the current process's timer to the guest's next deadline.
void follow_timer();

// From here on the host does only the calls that the filter lets through.
void confine();

[[noreturn]] void end_process();

} // namespace previrt::process
