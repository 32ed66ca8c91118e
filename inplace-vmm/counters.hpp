// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// The replacement that a recorded site got.
enum class Way : std::uint8_t { in_line, call, jump, trap, native, count };

struct Counters {
    std::uint64_t rewritten[256][static_cast<unsigned>(Way::count)]; // by kind
    std::uint64_t calls[256];         // entries into the VMM from sites, by kind
    std::uint64_t trapped_sites[256]; // sensitive instructions that trapped, recorded or not, by kind
    std::uint64_t exceptions[32];     // that the VMM took
    std::uint64_t delivered[256];     // to the guest, by vector
    std::uint64_t hypercalls[64];
    std::uint64_t hidden_faults;
    std::uint64_t true_faults;
    std::uint64_t system_calls;
    std::uint64_t user_returns;
    std::uint64_t system_calls_rewritten; // sites of user mode that became jumps to a stub
    std::uint64_t tables_made;
    std::uint64_t tables_dropped;
    std::uint64_t tables_evicted; // to make room, each with all tables below it
    std::uint64_t entries_written;
    std::uint64_t pool_exhausted;
    std::uint64_t unannotated_writes;  // to live page tables
    std::uint64_t events_taken;        // upcalls
    std::uint64_t delivered_at_once;   // interrupts, as soon as the event came
    std::uint64_t delivered_at_site;   // at sti, popf, iret
    std::uint64_t delivered_at_return; // on the return to user mode
    std::uint64_t delivered_at_idle;
    std::uint64_t packets_sent;
    std::uint64_t packets_received;
    std::uint64_t packets_lost;   // by the back-end: invalid packets, and those that the peer reports as lost
    std::uint64_t disk_calls;     // doorbells to the disks' threads, which were needed because they waited
    std::uint64_t folder_calls;   // doorbells to the folders' servers
    std::uint64_t floating_ports; // accesses that no device answers
    std::uint64_t floating_memory;
    std::uint64_t pages_released; // that the guest gave back to the host
    std::uint64_t packet_calls;   // doorbells to the peer, which were needed because it waited
    std::uint64_t disk_requests;  // that the host took
};

extern "C" Counters counters;

// Prints one line of JSON, with its prefix.
void print_counters();

} // namespace previrt
