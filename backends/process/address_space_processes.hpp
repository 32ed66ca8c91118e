// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>

// The guest's host processes, one for each of its address spaces. The virtual processor runs in one of them.
namespace previrt::process {

struct Host {
    std::uint32_t turn;        // a futex: 1 when the virtual processor is handed to it. First field: entry.S
    std::int32_t identity;     // 0: no process was ever made
    backend::TableNumber root; // the root of its address space, or none
    backend::TableNumber user_root; // with --isolate: user mode's view of it
    std::uint64_t spaces;           // counts the address spaces that it has had
    bool is_outdated;               // the guest's part has to be emptied before the process is used again
    std::uint64_t last_used;
    std::uint64_t changes_seen;  // in the kernel's part: host_map.cpp
    std::uint64_t timer_set_for; // or no_timer: it has expired, or was never set. events.cpp
    std::uint64_t mapped_ranges;
    std::uint64_t local_table_version; // of its table: local_table.cpp
    unsigned local_entries;            // one more than the last entry that may be set
};

constexpr std::uint64_t no_timer = ~std::uint64_t{0};
constexpr backend::TableNumber no_root = ~backend::TableNumber{0};

// Indices of the counters of host calls.
enum HostCall : std::uint8_t {
    call_make_host,
    call_change_host,
    call_map,
    call_unmap,
    call_protect,
    call_set_timer,
    call_wait
};

void start_hosts();
Host& current_host();
unsigned number_of(const Host& host);
// The process with this root; nullptr: there is none.
Host* host_of(backend::TableNumber root);
// The virtual processor moves to the process with this root, which is made if necessary.
void enter_host_of(backend::TableNumber root, backend::TableNumber user_root);
// No process has this root any more.
void leave_root(backend::TableNumber root);
// The process has to empty the guest's part.
void outdate(Host& host);
void outdate_all_hosts();

} // namespace previrt::process
