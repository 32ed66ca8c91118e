// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/ring3/vmm_lock.hpp"
#include "backends/xen/layout.hpp"

#include <cstdint>

// The virtual processors, as many as Xen has given the domain. Each but the boot processor has memory of its
// own: the pages that it sees at processor_start, and the page tables that lead there (processor_roots.hpp).
namespace previrt::xen {

extern "C" {
extern std::uint8_t processor_start[];
extern std::uint8_t processor_end[];
}

constexpr unsigned kept_roots = 16; // the copies of roots that a processor has
constexpr unsigned kept_tables = 3; // of each: the root itself, and those of levels 3 and 2 in its last entry

// Called when the domain's memory is mapped, before the VMM takes events.
void start_boot_processor();
// Called when the boot processor's pages are ready: the others begin with copies of them.
void start_processors();

// Of another than the boot processor, as numbers of pages.
std::uint64_t level1_page(unsigned processor);
std::uint64_t kept_page(unsigned processor, unsigned root, unsigned level);

// The place of another processor's own variable, or of the present one's, in the map of all pages.
std::uint8_t* map_place(unsigned processor, const void* variable);

} // namespace previrt::xen
