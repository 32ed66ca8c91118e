// SPDX-License-Identifier: BSD-2-Clause
// No processor reads the shadow tables; host_map.cpp reads them as a processor would.
#include "backends/process/address_space_processes.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/host_changes.hpp"
#include "backends/process/host_map.hpp"
#include "backends/process/processors.hpp"
#include "backends/process/user_mode/calls.hpp"
#include "backends/process/user_mode/process.hpp"
#include "inplace-vmm/backend/kernel_placement.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt::backend {

using namespace process;

namespace {

// Of the file that holds all memory.
std::uint64_t first_table_frame() {
    return (reinterpret_cast<std::uint64_t>(memory.pool) - arena_address) >> page_shift;
}

} // namespace

std::uint8_t* guest_ram() {
    return reinterpret_cast<std::uint8_t*>(ram_address);
}

void prepare_write(std::uint64_t guest_frame) {
    (void)let_kernel_write(ram_address + (guest_frame << page_shift));
}

std::uint64_t guest_ram_bytes() {
    return handover.guest_memory;
}

std::uint64_t machine_frame(std::uint64_t guest_frame) {
    return first_guest_frame() + guest_frame;
}

std::uint64_t guest_frame_of(std::uint64_t frame) {
    return frame - first_guest_frame();
}

std::uint32_t table_count() {
    return memory.table_count;
}

std::uint64_t table_machine_frame(TableNumber table) {
    return first_table_frame() + table;
}

std::uint64_t* table_entries(TableNumber table) {
    return reinterpret_cast<std::uint64_t*>(memory.pool + (std::uint64_t{table} << page_shift));
}

TableNumber table_at(std::uint64_t frame) {
    const std::uint64_t table = frame - first_table_frame();
    return table < memory.table_count ? static_cast<TableNumber>(table) : ~TableNumber{0};
}

void publish_table(TableNumber /*table*/) {}

void retire_table(TableNumber table) {
    note_retired(table);
}

void write_entry(TableNumber table, unsigned index, std::uint64_t entry) {
    change_entry_of(table, index, entry);
}

void flush_entries() {
    follow_changes();
}

bool sets_accessed_bits() {
    return true;
}

void forget_retired_tables() {
    follow_changes();
}

bool separates_user_mode() {
    return isolates();
}

void pin_root(TableNumber /*kernel*/, TableNumber /*user*/) {}

void unpin_root(TableNumber kernel, TableNumber /*user*/) {
    leave_root(kernel);
}

void load_root(TableNumber kernel, TableNumber user) {
    follow_changes();
    enter_host_of(kernel, user);
}

void invalidate_page(std::uint64_t /*address*/) {
    follow_changes();
}

void invalidate_all() {
    follow_changes();
}

// The entries before it were changed because the guest must not use them any more. Most changes are of an
// address space where no other processor is: it then has no mapping of them, and goes on. To stop it costs
// more than all of a page fault.
void queue_invalidate_all() {
    for (unsigned i = 0; i < processor_count(); ++i) {
        if (i != vcpu.number && !changes_are_followed_by(i)) {
            gather_processor(i);
        }
    }
}

// A kernel that was slid: no page table of its own can map it at such an address, nor needs to.
std::optional<AddressRange> map_kernel_image(const KernelImage& image) {
    map_kernel(image);
    return AddressRange{.first = modules_address, .bytes = modules_end - modules_address};
}

// The VMM needs no entry: every process maps it outside the tables' range.
std::uint64_t map_entry() {
    return 0;
}

unsigned map_slot() {
    return ram_slot;
}

std::uint64_t vmm_entry(unsigned /*level*/, bool /*user*/) {
    return 0;
}

std::uint64_t vmm_memory_in_slot(unsigned root_index) {
    return root_index == ram_slot ? arena_address : 0;
}

bool slot_is_reserved(unsigned /*root_index*/) {
    return false; // only the slot of the map is reserved, which has the VMM's memory too
}

} // namespace previrt::backend
