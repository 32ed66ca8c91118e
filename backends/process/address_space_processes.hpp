// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>

// The guest's host processes: one for each of its address spaces. The virtual processor is in one of them.
namespace previrt::process {

struct Host {
    std::uint32_t turn;        // a futex: 1 when the virtual processor is given to it. At the start: entry.S
    std::int32_t identity;     // 0: none was ever made
    backend::TableNumber root; // whose address space it holds, or none
    backend::TableNumber user_root; // with --isolate: what user mode sees of it
    bool is_outdated;               // the guest's part of it is emptied before it is used again
    std::uint64_t last_used;
    std::uint64_t changes_seen;  // of the kernel's part: host_map.cpp
    std::uint64_t timer_set_for; // events.cpp
    std::uint64_t mapped_ranges;
    std::uint64_t local_table_version; // that it has: local_table.cpp
    unsigned local_entries;            // past the last of it that may be set
};

constexpr backend::TableNumber no_root = ~backend::TableNumber{0};

// Where the counters have the calls of the host.
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
// The one that holds this root; nullptr: none.
Host* host_of(backend::TableNumber root);
// The virtual processor goes on in the process that holds this root, made if need be.
void enter_host_of(backend::TableNumber root, backend::TableNumber user_root);
// No process holds it any more.
void leave_root(backend::TableNumber root);
// It has to empty the guest's part.
void outdate(Host& host);
void outdate_all_hosts();

} // namespace previrt::process
