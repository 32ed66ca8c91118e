// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// The bounds of a guest in processes, beside its RAM and the VMM's memory.
struct GuestBounds {
    unsigned hosts;            // host processes of the guest's kernel
    unsigned processes;        // these and those of user mode, without the keeper
    unsigned processors;       // of the guest
    unsigned changing;         // of these: as many may change their processes at the same time, all the time
    std::uint64_t page_tables; // bytes of all processes together; a guest with more is ended
    std::uint64_t of_process;  // bytes of each process for everything else
    std::uint64_t ranges;      // that the VMM maps in each process
};

// `most_mappings`: this machine's bound for a process (vm.max_map_count).
GuestBounds bound_guest(std::uint64_t guest_memory, unsigned processors, std::uint64_t most_mappings,
                        bool isolates = false);

// The sum in bytes.
std::uint64_t overhead_of(const GuestBounds& bounds);

// vm.max_map_count of this machine.
std::uint64_t read_most_mappings();

} // namespace previrt
