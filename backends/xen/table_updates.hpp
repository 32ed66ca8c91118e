// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/hypercall.hpp"

#include <cstdint>

// Writes to page tables that Xen holds. They are queued, and flush_updates() does them all.
namespace previrt::xen {

constexpr std::uint64_t entry_present = 1;
constexpr std::uint64_t entry_writable = 2;
constexpr std::uint64_t entry_user = 4; // Xen sets it anyway: a comparison of entries must ignore it
constexpr std::uint64_t entry_used = 0x60;
constexpr std::uint64_t entry_no_execute = std::uint64_t{1} << 63U;
constexpr std::uint64_t table_flags = entry_present | entry_writable | entry_user | entry_used;

constexpr std::uint64_t entry_offset(std::uint64_t index) {
    return index * sizeof(std::uint64_t);
}

// The machine address of an entry, and its new value. They are done in order.
void queue_update(std::uint64_t place, std::uint64_t value);
// Done before those, or after them.
void queue_first_update(std::uint64_t place, std::uint64_t value);
void queue_last_update(std::uint64_t place, std::uint64_t value);
// The flush that does the first updates queued now. Grows.
std::uint64_t update_batch();
// Of this table, by its machine address.
void forget_updates_of(std::uint64_t table);
// A root, after all updates.
void queue_pin(std::uint64_t frame);
// Invalidates one address, or all, after the updates before it.
void queue_invalidation(std::uint64_t address);
void queue_flush();
void queue_flush_everywhere(); // of all processors' translations
void flush_updates();
bool updates_are_flushed();

void extended_operations(mmuext_op* operations, unsigned count);

} // namespace previrt::xen
