// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/event_ring.hpp"

#include "inplace-vmm/print.hpp"

namespace previrt {

[[gnu::section("processor")]] EventRing event_ring;

namespace {

constexpr const char* names[] = {"",        "site",        "trap", "delivered", "hidden fault", "true fault",
                                 "to user", "system call", "root", "interrupt", "table write"};

} // namespace

void record_event(Event event, std::uint64_t first, std::uint64_t second) {
    event_ring.events[event_ring.next % EventRing::length] = {
        .first = first, .second = second, .event = event};
    ++event_ring.next;
}

void print_events() {
    for (unsigned age = EventRing::length; age > 0; --age) {
        const RecordedEvent& entry = event_ring.events[(event_ring.next - age) % EventRing::length];
        if (entry.event != Event::none) {
            Print() << "previrt-vmm:   " << names[static_cast<unsigned>(entry.event)] << ' '
                    << Hex{entry.first} << ' ' << Hex{entry.second} << '\n';
        }
    }
}

} // namespace previrt
