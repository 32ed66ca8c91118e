// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// What a guest in processes may take of this machine, beside its RAM and the VMM's memory.
struct GuestBounds {
    unsigned hosts;            // host processes of the guest's kernel
    unsigned processes;        // these and those of user mode, beside the first, which waits for them
    unsigned processors;       // that the guest has
    std::uint64_t page_tables; // bytes, of all processes together: with more the guest is ended
    std::uint64_t of_process;  // bytes that each may take for anything else
};

// `most_mappings`: that this machine lets a process have (vm.max_map_count).
GuestBounds bound_guest(std::uint64_t guest_memory, unsigned processors, std::uint64_t most_mappings,
                        bool isolates = false);

// All of these, in bytes.
std::uint64_t overhead_of(const GuestBounds& bounds);

// Of this machine.
std::uint64_t read_most_mappings();

} // namespace previrt
