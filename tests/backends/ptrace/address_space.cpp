// SPDX-License-Identifier: BSD-2-Clause
// No processor walks the shadow tables: map_page() does.
#include "tests/backends/ptrace/address_space.hpp"

#include "backends/common/contract/table_pool.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/backend/kernel_placement.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "tests/backends/ptrace/child.hpp"
#include "tests/backends/ptrace/memory.hpp"

#include <array>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <vector>

namespace previrt::traced {

namespace {

using backend::TableNumber;

constexpr unsigned own_slot = table_index(own_memory, root_level);

std::vector<std::array<std::uint64_t, entries_per_table>> tables;
TableNumber kernel_root;
TableNumber user_root;
bool is_outdated;          // the child may map what the tables do not hold any more
unsigned mapped_level = 0; // the privilege level for which the child maps what it maps

std::uint64_t ram_frames() {
    return backend::guest_ram_bytes() >> page_shift;
}

} // namespace

void start_page_tables() {
    tables.resize(table_pool::table_count(ram_frames()));
}

void empty_outdated_address_space() {
    if (is_outdated || mapped_level != vcpu.cpl) {
        call_in_child({.number = SYS_munmap, .arguments = {0, own_memory}});
        is_outdated = false;
        mapped_level = vcpu.cpl;
    }
}

bool map_page(std::uint64_t address, std::uint32_t error_code) {
    TableNumber table = vcpu.cpl == 3 ? user_root : kernel_root;
    std::uint64_t entry = 0;
    bool is_writable = true;
    bool is_executable = true;
    for (unsigned level = root_level; level >= 1; --level) {
        entry = tables[table][table_index(address, level)];
        if ((entry & page_present) == 0) {
            return false;
        }
        is_writable = is_writable && (entry & page_writable) != 0;
        is_executable = is_executable && (entry & page_no_execute) == 0;
        table = backend::table_at(machine_frame_in(entry));
    }
    if (((error_code & fault_write) != 0 && !is_writable) ||
        ((error_code & fault_fetch) != 0 && !is_executable)) {
        return false;
    }
    const std::uint64_t page = address & ~(page_bytes - 1);
    const int protection = PROT_READ | (is_writable ? PROT_WRITE : 0) | (is_executable ? PROT_EXEC : 0);
    const std::int64_t result = call_in_child(
        {.number = SYS_mmap,
         .arguments = {page, page_bytes, static_cast<std::uint64_t>(protection), MAP_SHARED | MAP_FIXED,
                       static_cast<std::uint64_t>(memory_file), machine_frame_in(entry) << page_shift}});
    if (result != static_cast<std::int64_t>(page)) {
        stop_guest("the host maps nothing for a process at", address);
    }
    return true;
}

} // namespace previrt::traced

namespace previrt::backend {

using namespace traced;

// The guest's frames come first, then the tables'.
std::uint64_t machine_frame(std::uint64_t guest_frame) {
    return guest_frame;
}

std::uint64_t guest_frame_of(std::uint64_t machine_frame) {
    return machine_frame;
}

std::uint32_t table_count() {
    return static_cast<std::uint32_t>(tables.size());
}

std::uint64_t table_machine_frame(TableNumber table) {
    return ram_frames() + table;
}

TableNumber table_at(std::uint64_t machine_frame) {
    const std::uint64_t number = machine_frame - ram_frames();
    return number < tables.size() ? static_cast<TableNumber>(number) : ~TableNumber{0};
}

std::uint64_t* table_entries(TableNumber table) {
    return tables[table].data();
}

void write_entry(TableNumber table, unsigned index, std::uint64_t entry) {
    is_outdated = is_outdated || (tables[table][index] & page_present) != 0;
    tables[table][index] = entry;
}

void load_root(TableNumber kernel, TableNumber user) {
    kernel_root = kernel;
    user_root = user;
    is_outdated = true;
}

bool separates_user_mode() {
    return true;
}

bool sets_accessed_bits() {
    return false;
}

// Nobody else has a copy of the tables, and write_entry() has seen every change.
void publish_table(TableNumber /*table*/) {}
void retire_table(TableNumber /*table*/) {}
void forget_retired_tables() {}
void pin_root(TableNumber /*kernel*/, TableNumber /*user*/) {}
void unpin_root(TableNumber /*kernel*/, TableNumber /*user*/) {}
void flush_entries() {}
void invalidate_page(std::uint64_t /*address*/) {}
void invalidate_all() {}
void queue_invalidate_all() {}

// The guest's tables place its kernel: it was linked where a process can have it.
std::optional<AddressRange> map_kernel_image(const KernelImage& /*image*/) {
    return std::nullopt;
}

// The VMM is in another process. The child has own_memory, and the guest must not have that slot.
std::uint64_t map_entry() {
    return 0;
}

unsigned map_slot() {
    return own_slot;
}

std::uint64_t vmm_entry(unsigned /*level*/, bool /*user*/) {
    return 0;
}

bool slot_is_reserved(unsigned /*root_index*/) {
    return false; // but for own_slot
}

std::uint64_t vmm_memory_in_slot(unsigned root_index) {
    return root_index == own_slot ? own_memory : 0;
}

} // namespace previrt::backend
