// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/page_walk.hpp"
#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>
#include <optional>

namespace previrt {

// Page tables for the real processor, kept in step with the guest's own, which stay plain guest memory.
//
// A shadow table stands for one guest table (or for one large page). It is filled when it is made, and
// follows annotated writes at once, and others at the next flush, if the guest has been in user mode since
// the table was linked: only then is the table protected. An entry is absent while its accessed bit is clear,
// and read-only while its dirty bit is clear, so that the first use is a hidden fault, which sets the bit.
// Linux presets both bits in kernel mappings: these never fault. A hypervisor that pushes a trap's frame on
// the kernel's current stack depends on this.
//
// The pool of tables has a fixed size, and may be smaller than the guest's tables: hidden faults make evicted
// tables again.

// Takes memory for the book-keeping, once and for good.
void start_shadow_tables(std::uint8_t* (*take_memory)(std::uint64_t bytes));

// The guest wrote CR3: the named root takes effect.
void load_shadow_root();
// The guest wrote an entry of a table of that level, at this guest-physical address.
void shadow_entry_written(std::uint64_t guest_physical, std::uint64_t entry, unsigned level);
// The shadow of a guest table that has none, or a single one of level 1 that only user mode's pages are in: a
// write to it neither makes nor drops a table, and maps nothing for the kernel.
struct OnlyShadow {
    backend::TableNumber table; // ~0: there is none
};
std::optional<OnlyShadow> shadow_at_most_users(std::uint64_t guest_physical);
// shadow_entry_written() in this case.
void shadow_leaf_written(OnlyShadow shadow, std::uint64_t guest_physical, std::uint64_t entry);
// A flush of all that may be cached of the page tables.
void shadow_flush();
// invlpg.
void shadow_invalidate(std::uint64_t address);
// CR0.WP or EFER.NXE changed, and with it the meaning of entries. Those of other processors than the boot
// processor change nothing.
void shadow_rebuild();

// Maps the VMM at a second address, a multiple of 2 MiB, in the current root. False: the guest has a table
// for that address.
bool shadow_add_alias(std::uint64_t address);

// For a hypervisor that pushes a trap's frame on the kernel's current stack, where no hidden fault can be
// taken. Touches the stack's page and the pages that it grows into, which sets their bits.
void shadow_prepare_stack(std::uint64_t stack);

enum class FaultVerdict : std::uint8_t {
    hidden, // the shadow was behind: the guest may repeat the access
    guest,  // the guest's own tables forbid the access: error_code is for the guest
    device, // the page is no RAM, and no shadow ever maps it
};

struct ShadowFault {
    FaultVerdict verdict;
    std::uint32_t error_code;
};

// The root that maps this address now: for an address of the kernel alone it may differ from CR3's.
backend::TableNumber shadow_root_of(std::uint64_t address);

ShadowFault shadow_fault(std::uint64_t address, Access access);

} // namespace previrt
