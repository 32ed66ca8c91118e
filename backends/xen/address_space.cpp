// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/domain.hpp"
#include "backends/xen/layout.hpp"
#include "backends/xen/processor_roots.hpp"
#include "backends/xen/table_updates.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/backend/processors.hpp"

#include <cstring>

namespace previrt::backend {

using namespace xen;

namespace {

std::uint64_t* copies;       // of the pool: the VMM's view
std::uint64_t* published_in; // by table: the batch of updates that makes it a table of Xen's; 0: it is none

// Until then the VMM still writes to it.
bool waits_for_xen(TableNumber table) {
    return published_in[table] == update_batch();
}

} // namespace

std::uint8_t* guest_ram() {
    return page_pointer(memory.guest.first);
}

void prepare_write(std::uint64_t /*guest_frame*/) {} // it is always writable

std::uint64_t guest_ram_bytes() {
    return (memory.guest.end - memory.guest.first) << page_shift;
}

std::uint64_t machine_frame(std::uint64_t guest_frame) {
    return machine_frame_of(memory.guest.first + guest_frame);
}

std::uint64_t guest_frame_of(std::uint64_t frame) {
    const auto* const pages = reinterpret_cast<const std::uint64_t*>(MACH2PHYS_VIRT_START);
    return pages[frame] - memory.guest.first;
}

std::uint32_t table_count() {
    return static_cast<std::uint32_t>(memory.pool.end - memory.pool.first);
}

std::uint64_t table_machine_frame(TableNumber table) {
    return machine_frame_of(memory.pool.first + table);
}

std::uint64_t* table_entries(TableNumber table) {
    return copies + (std::uint64_t{table} * xen::table_entries);
}

TableNumber table_at(std::uint64_t frame) {
    const auto* const pages = reinterpret_cast<const std::uint64_t*>(MACH2PHYS_VIRT_START);
    const std::uint64_t page = pages[frame];
    return memory.pool.holds(page) ? static_cast<TableNumber>(page - memory.pool.first) : ~TableNumber{0};
}

namespace {

std::uint64_t page_of_table(TableNumber table) {
    return memory.pool.first + table;
}

std::uint64_t map_entry_place(std::uint64_t page) {
    const std::uint64_t table = memory.map_tables.first + (page / xen::table_entries);
    return machine_address(table) + entry_offset(page % xen::table_entries);
}

} // namespace

void publish_table(TableNumber table) {
    const std::uint64_t page = page_of_table(table);
    std::memcpy(page_pointer(page), table_entries(table), page_size);
    queue_first_update(map_entry_place(page), map_entry_for(page, false));
    published_in[table] = update_batch();
}

void retire_table(TableNumber table) {
    if (published_in[table] == 0) {
        return;
    }
    published_in[table] = 0;
    const std::uint64_t page = page_of_table(table);
    // Once Xen holds the table no more, it does not hold the frames that its entries name either.
    forget_updates_of(machine_address(page));
    forget_copies(table);
    queue_last_update(map_entry_place(page), map_entry_for(page, true));
    if (processor_count() == 1) {
        queue_invalidation(address_of(page_pointer(page)));
    } else {
        queue_flush_everywhere(); // any of them may write there next
    }
}

void write_entry(TableNumber table, unsigned index, std::uint64_t entry) {
    table_entries(table)[index] = entry;
    if (waits_for_xen(table)) {
        reinterpret_cast<std::uint64_t*>(page_pointer(page_of_table(table)))[index] = entry;
    } else if (published_in[table] != 0) {
        queue_update(machine_address(page_of_table(table)) + entry_offset(index), entry);
    }
    if (is_copied(table)) {
        change_copies(table, index, entry);
    }
}

void flush_entries() {
    flush_updates();
}

bool sets_accessed_bits() {
    return false; // in Xen's copies
}

void forget_retired_tables() {
    flush_updates();
}

namespace {

// By their machine frames.
void change_pair(unsigned first_command, unsigned second_command, std::uint64_t kernel,
                 std::uint64_t user_table) {
    flush_updates();
    mmuext_op operations[2] = {};
    operations[0].cmd = first_command;
    operations[0].arg1.mfn = kernel;
    operations[1].cmd = second_command;
    operations[1].arg1.mfn = user_table;
    extended_operations(operations, 2);
}

} // namespace

bool separates_user_mode() {
    return true;
}

void pin_root(TableNumber kernel, TableNumber user_table) {
    queue_pin(table_machine_frame(kernel));
    queue_pin(table_machine_frame(user_table));
}

void unpin_root(TableNumber kernel, TableNumber user_table) {
    empty_copies(kernel);
    change_pair(MMUEXT_UNPIN_TABLE, MMUEXT_UNPIN_TABLE, table_machine_frame(kernel),
                table_machine_frame(user_table));
}

void load_root(TableNumber kernel, TableNumber user_table) {
    change_pair(MMUEXT_NEW_BASEPTR, MMUEXT_NEW_USER_BASEPTR, own_root(kernel),
                table_machine_frame(user_table));
}

void invalidate_page(std::uint64_t address) {
    flush_updates();
    mmuext_op operation{};
    operation.cmd = MMUEXT_INVLPG_LOCAL;
    operation.arg1.linear_addr = address;
    extended_operations(&operation, 1);
}

// With several processors it is done at once: they go on meanwhile, and none may write to the page that the
// front-end is about to read as a table.
void queue_invalidate_all() {
    if (processor_count() == 1) {
        queue_flush();
    } else {
        queue_flush_everywhere();
        flush_updates();
    }
}

void invalidate_all() {
    flush_updates();
    mmuext_op operation{};
    operation.cmd = MMUEXT_TLB_FLUSH_LOCAL;
    extended_operations(&operation, 1);
}

std::uint64_t map_entry() {
    return machine_address(memory.map_tables.end - 2) | table_flags;
}

unsigned map_slot() {
    return map_root_index;
}

static_assert(image_address == vmm_address);
std::uint64_t vmm_entry(unsigned level, bool user) {
    if (user) {
        return 0; // Xen changes the root
    }
    return machine_address(vmm_table_page(level - 1)) | table_flags;
}

std::uint64_t vmm_memory_in_slot(unsigned root_index) {
    constexpr std::uint64_t sign = 0xffff000000000000;
    return root_index == map_root_index ? sign | (std::uint64_t{map_root_index} << 39U) : 0;
}

bool slot_is_reserved(unsigned root_index) {
    constexpr unsigned first = 256;
    constexpr unsigned last = 271;
    return root_index >= first && root_index <= last;
}

} // namespace previrt::backend

namespace previrt::xen {

void start_tables() {
    backend::copies =
        reinterpret_cast<std::uint64_t*>(take_memory(std::uint64_t{backend::table_count()} * page_size));
    backend::published_in =
        reinterpret_cast<std::uint64_t*>(take_memory(backend::table_count() * sizeof(std::uint64_t)));
}

} // namespace previrt::xen
