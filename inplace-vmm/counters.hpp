// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// How a recorded site was treated.
enum class Way : std::uint8_t { in_line, call, jump, trap, native, count };

struct Counters {
    std::uint64_t rewritten[256][static_cast<unsigned>(Way::count)]; // by kind
    std::uint64_t calls[256];                                        // sites that entered the VMM, by kind
    std::uint64_t trapped_sites[256]; // recorded or not: sensitive instructions that came by a trap, by kind
    std::uint64_t exceptions[32];     // that reached the VMM
    std::uint64_t delivered[256];     // to the guest, by vector
    std::uint64_t hypercalls[64];
    std::uint64_t hidden_faults;
    std::uint64_t true_faults;
    std::uint64_t system_calls;
    std::uint64_t user_returns;
    std::uint64_t system_calls_rewritten; // sites of user mode that enter the VMM by themselves
    std::uint64_t tables_made;
    std::uint64_t tables_dropped;
    std::uint64_t tables_evicted; // with all below them, for want of room
    std::uint64_t entries_written;
    std::uint64_t pool_exhausted;
    std::uint64_t unannotated_writes;  // to page tables that were live
    std::uint64_t events_taken;        // upcalls
    std::uint64_t delivered_at_once;   // interrupts, where the event came
    std::uint64_t delivered_at_site;   // at sti, popf, iret
    std::uint64_t delivered_at_return; // on the way to user mode
    std::uint64_t delivered_at_idle;
    std::uint64_t packets_sent;
    std::uint64_t packets_received;
    std::uint64_t packets_lost;   // by the back-end, for what they were or by the other end's word
    std::uint64_t floating_ports; // accesses that nobody answers
    std::uint64_t floating_memory;
    std::uint64_t packet_calls; // of the other end, where that waits
};

extern "C" Counters counters;

// One line of JSON, its prefix included.
void print_counters();

} // namespace previrt
