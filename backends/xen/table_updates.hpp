// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/hypercall.hpp"

#include <cstdint>

// Writes to page tables that Xen holds: queued, and done in order by one hypercall.
namespace previrt::xen {

constexpr std::uint64_t entry_present = 1;
constexpr std::uint64_t entry_writable = 2;
constexpr std::uint64_t entry_user = 4; // Xen adds it anyway: comparing entries must not find it new
constexpr std::uint64_t entry_used = 0x60;
constexpr std::uint64_t entry_no_execute = std::uint64_t{1} << 63U;
constexpr std::uint64_t table_flags = entry_present | entry_writable | entry_user | entry_used;

constexpr std::uint64_t entry_offset(std::uint64_t index) {
    return index * sizeof(std::uint64_t);
}

// The machine address of an entry, and what it becomes.
void queue_update(std::uint64_t place, std::uint64_t value);
// One address, or all, once the updates before it are done.
void queue_invalidation(std::uint64_t address);
void queue_flush();
void flush_updates();
bool updates_are_flushed();

void extended_operations(mmuext_op* operations, unsigned count);

} // namespace previrt::xen
