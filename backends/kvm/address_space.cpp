// SPDX-License-Identifier: BSD-2-Clause
// The shadow tables are KVM's own input: it follows stores to them as a TLB does, at the next invalidation.
#include "backends/kvm/domain.hpp"
#include "inplace-vmm/backend.hpp"

#include <cstring>

namespace previrt::backend {

using namespace kvm;

namespace {

constexpr std::uint64_t table_flags = 0x67; // present, writable, user, accessed, dirty

TableNumber loaded_root;
bool invalidation_is_queued;

} // namespace

std::uint8_t* guest_ram() {
    return pointer_to(ram_base);
}

std::uint64_t guest_ram_bytes() {
    return handover.guest_memory;
}

std::uint64_t machine_frame(std::uint64_t guest_frame) {
    return (ram_base >> page_shift) + guest_frame;
}

std::uint64_t guest_frame_of(std::uint64_t frame) {
    return frame - (ram_base >> page_shift);
}

std::uint32_t table_count() {
    return memory.table_count;
}

std::uint64_t table_machine_frame(TableNumber table) {
    return (physical_of(memory.pool) >> page_shift) + table;
}

std::uint64_t* table_entries(TableNumber table) {
    return reinterpret_cast<std::uint64_t*>(memory.pool + (std::uint64_t{table} << page_shift));
}

TableNumber table_at(std::uint64_t frame) {
    const std::uint64_t table = frame - (physical_of(memory.pool) >> page_shift);
    return table < memory.table_count ? static_cast<TableNumber>(table) : ~TableNumber{0};
}

void publish_table(TableNumber /*table*/) {}
void retire_table(TableNumber /*table*/) {
    queue_invalidate_all(); // it may become another table, and KVM may still walk it
}

void write_entry(TableNumber table, unsigned index, std::uint64_t entry) {
    std::uint64_t& place = table_entries(table)[index];
    invalidation_is_queued = invalidation_is_queued || (place & 1U) != 0;
    __atomic_store_n(&place, entry, __ATOMIC_RELAXED);
}

void flush_entries() {
    if (invalidation_is_queued) {
        invalidate_all();
    }
}

bool separates_user_mode() {
    return false;
}

void pin_root(TableNumber /*kernel*/, TableNumber /*user*/) {}
void unpin_root(TableNumber /*kernel*/, TableNumber /*user*/) {}

void load_root(TableNumber kernel, TableNumber /*user*/) {
    loaded_root = kernel;
    invalidate_all();
}

void invalidate_page(std::uint64_t address) {
    if (invalidation_is_queued) {
        invalidate_all();
    } else {
        call_level_0(level_0_invalidate, address);
    }
}

void queue_invalidate_all() {
    invalidation_is_queued = true;
}

void invalidate_all() {
    invalidation_is_queued = false;
    call_level_0(level_0_load_root, table_machine_frame(loaded_root) << page_shift);
}

std::uint64_t map_entry() {
    return handover.map_level3 | table_flags;
}

unsigned map_slot() {
    return map_root_index;
}

std::uint64_t vmm_entry(unsigned level) {
    const std::uint64_t tables[] = {handover.vmm_level1, handover.vmm_level2, handover.vmm_level3};
    return tables[level - 2] | table_flags;
}

// KVM runs nothing of it without interpreting.
bool slot_is_reserved(unsigned root_index) {
    constexpr unsigned interpreted = 256;
    return root_index == interpreted;
}

} // namespace previrt::backend
