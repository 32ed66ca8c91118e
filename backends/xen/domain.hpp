// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/hypercall.hpp"
#include "backends/xen/layout.hpp"

#include <cstdint>
#include <span>

namespace previrt::xen {

// The memory of this domain, by page number. A slot of every kernel root maps all of it.
struct Domain {
    const start_info* info;
    const std::uint64_t* machine_frames;
    std::uint64_t pages;
    bool is_initial; // dom0: it owns the console
};
extern Domain domain;

struct PageRange {
    std::uint64_t first;
    std::uint64_t end;

    [[nodiscard]] bool holds(std::uint64_t page) const { return page >= first && page < end; }
};

// Pages, by purpose.
struct Memory {
    PageRange map_tables; // of the map, and at its end its level 3 and the VMM's spare level 3
    PageRange pool;       // the page-table pool: Xen's view of the shadow tables
    PageRange guest;
};
extern Memory memory;

extern "C" shared_info_t shared_info;

std::uint8_t* page_pointer(std::uint64_t page);
inline std::uint64_t machine_frame_of(std::uint64_t page) {
    return domain.machine_frames[page];
}
inline std::uint64_t machine_address(std::uint64_t page) {
    return machine_frame_of(page) << page_shift;
}
std::uint64_t map_entry_for(std::uint64_t page, bool may_write);
// The VMM's own tables above the last 2 MiB: level 1, 2 or 3.
std::uint64_t vmm_table_page(unsigned level);

// Builds the map, and divides the memory between VMM and guest.
void start_address_space(const start_info* info);
std::span<const std::uint8_t> package();
// Zero memory for the VMM's own use. Only at the start.
std::uint8_t* take_memory(std::uint64_t bytes);
bool has_memory(std::uint64_t bytes); // to take
// Xen will use this page as a descriptor table: it becomes read-only here.
void make_page_read_only(std::uint64_t page);
std::uint64_t page_of(const void* pointer);

void start_tables();
void start_events();
void start_segments();
void take_descriptors(unsigned processor); // tables of its own
void start_entries();
// Xen keeps these for each processor, which has to call them itself.
void start_own_segments();
void start_own_entries();
void start_console();
// Called after the start of events and tables. They wait for dom0.
void start_network();
void start_disks();

} // namespace previrt::xen
