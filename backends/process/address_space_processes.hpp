// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/address_spaces.hpp"
#include "backends/process/contract/host_call_counts.hpp"
#include "backends/process/local_table.hpp"
#include "backends/process/stolen_time.hpp"
#include "backends/process/thread_segments.hpp"
#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>

// The guest's host processes, one for each of its address spaces and processors. A virtual processor runs in
// one of its processes at a time.
namespace previrt::process {

struct Host {
    std::uint32_t turn;    // a futex: 1 when the virtual processor is handed to it. First field: entry.S
    std::int32_t identity; // 0: no process was ever made
    unsigned processor;
    AddressSpace* space;            // or nullptr
    backend::TableNumber user_root; // with --isolate: user mode's view of it
    bool is_outdated;               // the user's part has to be emptied before the process is used again
    std::uint64_t last_used;
    std::uint64_t changes_seen; // of its address space
    bool user_is_outdated;      // with --isolate: the user process beside it has to be emptied
    std::uint64_t isolated_changes_seen;
    std::uint64_t kernel_changes_seen; // in the kernel's part
    std::uint64_t timer_set_for;       // or no_timer: it has expired, or was never set. events.cpp
    std::uint64_t mapped_ranges;
    LocalTableMark local_table;
    ThreadSegments thread_segments;
    TurnTime turn_time;

    [[nodiscard]] backend::TableNumber root() const { return space == nullptr ? no_root : space->root; }
};

constexpr std::uint64_t no_timer = ~std::uint64_t{0};

void start_hosts();
Host& current_host();
// The same of another processor; nullptr: it was never started.
const Host* current_host_of(unsigned processor);
unsigned number_of(const Host& host);
// The virtual processor moves to its process with this root, which is made if necessary.
void enter_host_of(backend::TableNumber root, backend::TableNumber user_root);
// No process has this root any more.
void leave_root(backend::TableNumber root);
// The process has to empty the user's part.
void outdate(Host& host);
// The same for the user process beside it, with --isolate.
void outdate_user(Host& host);
void outdate_all_hosts();

// A processor that was never started begins, in a process of its own.
void make_processor(unsigned processor);
// Sends a signal to the process in which this processor runs.
void interrupt_processor(unsigned processor);

} // namespace previrt::process
