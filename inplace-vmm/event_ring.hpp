// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// What the VMM did last, for the dump of a stop.
enum class Event : std::uint8_t {
    none,
    site,         // address, kind
    trap,         // address, vector << 32 | error code
    delivered,    // handler's address, vector
    hidden_fault, // faulting address, error code
    true_fault,   // faulting address, error code
    user_return,  // address, flags
    syscall,      // address, number
    root,         // cr3, shadow table
    interrupt,    // address interrupted, vector
    table_write,  // entry's guest-physical address, entry
};

void record_event(Event event, std::uint64_t first, std::uint64_t second);
void print_events();

} // namespace previrt
