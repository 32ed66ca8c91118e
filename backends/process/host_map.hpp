// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>

// What the host processes map of the guest's address spaces. They are to the shadow tables what a TLB is to
// page tables: filled by faults, and emptied where an entry changes that may have been used, which its
// accessed bit tells.
namespace previrt::process {

void start_host_map();

struct HostAccess {
    bool write;
    bool fetch;
};

enum class Filled : std::uint8_t {
    done,
    absent,  // the shadow tables hold nothing that allows the access
    refused, // they do, but the host maps nothing at so low an address (vm.mmap_min_addr)
};

// Maps what the shadow tables hold for this address, and what goes on behind and before it likewise.
Filled fill_host(backend::TableNumber root, std::uint64_t address, HostAccess access);
// Likewise for user mode; with --isolate in its own process, before it goes on.
Filled fill_user(backend::TableNumber root, std::uint64_t address, HostAccess access);

// The entry of level 1 that this address has, with the rights of those above it; 0: none.
std::uint64_t entry_in_force(backend::TableNumber root, std::uint64_t address);
// Whether the guest's kernel may write to a frame by the map of all RAM.
void let_write(std::uint64_t frame, bool let);
// Has one page of the VMM's memory executed there.
void map_copy(std::uint64_t address, std::uint64_t page);
// A page of the guest's that is only read: the first execution faults.
void map_for_reading(std::uint64_t address, std::uint64_t frame);

// Changes an entry of these tables.
void change_entry_of(backend::TableNumber table, unsigned index, std::uint64_t changed);
// The table is about to be used for something else.
void note_retired(backend::TableNumber table);
// Nothing is mapped any more that was noted.
void follow_changes();
void forget_everything();
// Nothing is left to follow.
bool changes_are_followed();

// Where a kernel runs that was not linked where it lies; for good.
void map_kernel(std::uint64_t address, std::uint64_t physical, std::uint64_t bytes);

} // namespace previrt::process
