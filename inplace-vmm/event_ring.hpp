// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// The VMM's last actions, for the dump when a guest stops.
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

struct RecordedEvent {
    std::uint64_t first;
    std::uint64_t second;
    Event event;
};

struct EventRing {
    static constexpr unsigned length = 64;
    static_assert((length & (length - 1)) == 0);

    std::uint32_t next; // modulo the length
    RecordedEvent events[length];
};

extern "C" EventRing event_ring; // entry.S adds to it too

void record_event(Event event, std::uint64_t first, std::uint64_t second);
void print_events();

} // namespace previrt
