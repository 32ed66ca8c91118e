// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/kernel_placement.hpp"
#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>

// The mappings of the guest's address spaces in the host processes. They relate to the shadow tables as a TLB
// to page tables: faults fill them, and a change of an entry empties them if the entry's accessed bit says
// that it may have been used (host_changes.hpp).
namespace previrt::process {

struct HostAccess {
    bool write;
    bool fetch;
};

enum class Filled : std::uint8_t {
    done,
    absent,  // the shadow tables do not allow the access
    refused, // the shadow tables allow it, but the host maps nothing at so low an address (vm.mmap_min_addr)
};

// Maps the page of this address by the shadow tables, with neighbours whose frames are contiguous.
Filled fill_host(backend::TableNumber root, std::uint64_t address, HostAccess access);
// The same for user mode; with --isolate in its own process, before the program continues.
Filled fill_user(backend::TableNumber root, std::uint64_t address, HostAccess access);

// The level-1 entry of this address, with the rights of the entries above; 0: none.
std::uint64_t entry_in_force(backend::TableNumber root, std::uint64_t address);
// Lets one page of the VMM's memory be executed at this address.
void map_copy(std::uint64_t address, std::uint64_t page);
// Maps a page of the guest for reading only: the first execution faults.
void map_for_reading(std::uint64_t address, std::uint64_t frame);

// For a kernel whose linked address the process cannot give it; permanent.
void map_kernel(const backend::KernelImage& image);

} // namespace previrt::process
