// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/event_ring.hpp"

#include "inplace-vmm/print.hpp"

namespace previrt {

namespace {

struct Entry {
    Event event;
    std::uint64_t first;
    std::uint64_t second;
};

constexpr unsigned ring_entries = 64;
Entry ring[ring_entries];
unsigned next_entry;

constexpr const char* names[] = {"",        "site",        "trap", "delivered", "hidden fault", "true fault",
                                 "to user", "system call", "root", "interrupt", "table write"};

} // namespace

void record_event(Event event, std::uint64_t first, std::uint64_t second) {
    ring[next_entry % ring_entries] = {event, first, second};
    ++next_entry;
}

void print_events() {
    for (unsigned age = ring_entries; age > 0; --age) {
        const Entry& entry = ring[(next_entry - age) % ring_entries];
        if (entry.event != Event::none) {
            Print() << "previrt-vmm:   " << names[static_cast<unsigned>(entry.event)] << ' '
                    << Hex{entry.first} << ' ' << Hex{entry.second} << '\n';
        }
    }
}

} // namespace previrt
