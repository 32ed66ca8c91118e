// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/page_walk.hpp"
#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>

namespace previrt {

// Page tables for the real processor, kept in step with the guest's own, which stay plain guest memory.
//
// A shadow table stands for one guest table (or for one large page). It is filled when it is made and follows
// annotated writes at once; an entry is left out while its accessed bit is clear, and read-only while its
// dirty bit is clear, so that the first use comes here as a hidden fault, which sets the bit. Linux presets
// both bits in kernel mappings: those never fault, which is relied on where the hypervisor pushes a
// trap's frame on the kernel's current stack.
//
// The tables are a pool of a fixed size, which holds fewer than a guest may have: what is dropped for want of
// room comes again by hidden faults.

struct ShadowMemory {
    std::uint8_t* bytes;
    std::uint64_t size;
};

// How much the book-keeping needs.
std::uint64_t shadow_memory_bytes(std::uint64_t guest_frames, std::uint32_t table_count);
void start_shadow_tables(ShadowMemory memory);

// CR3 was written: the root that it names takes effect.
void load_shadow_root();
// A guest entry of a table of that level, at this guest-physical address, was written.
void shadow_entry_written(std::uint64_t guest_physical, std::uint64_t entry, unsigned level);
// A flush of all that may be cached of the page tables.
void shadow_flush();
// invlpg.
void shadow_invalidate(std::uint64_t address);
// CR0.WP, EFER.NXE changed: what entries mean has changed.
void shadow_rebuild();

// Maps the VMM at a second address, a multiple of 2 MiB, in the current root, where the guest has no table
// for it. False: the guest has one.
bool shadow_add_alias(std::uint64_t address);

// A back-end whose hypervisor pushes a trap's frame on the kernel's current stack cannot take a hidden fault
// there: the page of the stack, and those that it grows into, are used in advance, which sets their bits.
void shadow_prepare_stack(std::uint64_t stack);

enum class FaultVerdict : std::uint8_t {
    hidden, // the shadow was behind: the access may be tried again
    guest,  // the guest's own tables forbid it: error_code and address are the guest's
    device, // what is there is no RAM: no shadow ever maps it
};

struct ShadowFault {
    FaultVerdict verdict;
    std::uint32_t error_code;
};

// The root by which this address is reached now: for what is the kernel's alone, it need not be that of CR3.
backend::TableNumber shadow_root_of(std::uint64_t address);

ShadowFault shadow_fault(std::uint64_t address, Access access);

} // namespace previrt
