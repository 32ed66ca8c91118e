// SPDX-License-Identifier: BSD-2-Clause
// KVM reads the shadow tables themselves: it follows stores to them as a TLB does, at the next invalidation.
#include "backends/kvm/deprivileged/contract/processor_memory.hpp"
#include "backends/kvm/deprivileged/domain.hpp"
#include "backends/kvm/deprivileged/processor_roots.hpp"
#include "backends/kvm/deprivileged/processors.hpp"
#include "backends/kvm/deprivileged/stale_entries.hpp"
#include "backends/kvm/deprivileged/user_calls.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"

namespace previrt::backend {

using namespace kvm;

extern "C" {
extern std::uint64_t kernel_root; // the current roots, guest-physical
extern std::uint64_t user_root;
extern std::uint8_t shared_start[];
extern std::uint8_t shared_end[];
extern std::uint8_t user_gate[];
}

namespace {

constexpr std::uint64_t table_flags = 0x67; // present, writable, user, accessed, dirty
constexpr std::uint64_t level_0_flags = 0x63;

// With --isolate: levels 1, 2 and 3 of the VMM's part in user mode's roots.
std::uint64_t* user_tables;
[[gnu::section("processor")]] bool invalidation_is_queued;
[[gnu::section("processor")]] constinit TableNumber loaded = no_table;
[[gnu::section("processor")]] constinit TableNumber loaded_user = no_table;
bool has_retired_tables; // since all processors' last invalidation

} // namespace

std::uint8_t* guest_ram() {
    return pointer_to(ram_base);
}

void prepare_write(std::uint64_t /*guest_frame*/) {} // it is always writable

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
void retire_table(TableNumber table) {
    has_retired_tables = true;
    forget_copies(table);
}

void write_entry(TableNumber table, unsigned index, std::uint64_t entry) {
    std::uint64_t& place = table_entries(table)[index];
    if (processor_count() == 1) {
        note_change(table, index, place);
        __atomic_store_n(&place, entry, __ATOMIC_RELAXED);
        return;
    }
    // Another processor may set the accessed bit at this moment.
    note_change(table, index, __atomic_exchange_n(&place, entry, __ATOMIC_RELAXED));
    if (is_copied(table)) {
        change_copies(table, index, entry);
    }
}

void flush_entries() {
    if (invalidation_is_queued) {
        invalidate_all();
    }
}

bool sets_accessed_bits() {
    return true;
}

void forget_retired_tables() {
    if (has_retired_tables) {
        gather_processors();
        invalidate_all();
        has_retired_tables = false;
    }
}

bool separates_user_mode() {
    return handover.isolates_user_mode != 0;
}

void pin_root(TableNumber /*kernel*/, TableNumber /*user*/) {}
void unpin_root(TableNumber /*kernel*/, TableNumber /*user*/) {}

void load_root(TableNumber kernel, TableNumber user) {
    loaded = kernel;
    loaded_user = user;
    kernel_root = own_root(kernel, false);
    user_root = separates_user_mode() ? own_root(user, true) : 0;
    follow_user_call_root(kernel);
    invalidate_all();
}

void invalidate_page(std::uint64_t address) {
    if (invalidation_is_queued) {
        invalidate_all();
    } else if (take_change(loaded, address)) {
        ++counters.hypercalls[call_invalidate];
        count_crossing(call_invalidate);
        call_level_0(level_0_invalidate, address);
    }
}

void queue_invalidate_all() {
    invalidation_is_queued = true;
    gather_processors();
}

void invalidate_all() {
    invalidation_is_queued = false;
    has_retired_tables = has_retired_tables && processor_count() != 1;
    forget_changes();
    ++counters.hypercalls[call_load_root];
    count_crossing(call_load_root);
    call_level_0(level_0_load_root, kernel_root);
}

std::uint64_t map_entry() {
    return handover.map_level3 | table_flags;
}

unsigned map_slot() {
    return map_root_index;
}

static_assert(image_address == vmm_address);
std::uint64_t vmm_entry(unsigned level, bool user) {
    if (user) {
        return physical_of(user_tables + ((std::size_t{level} - 2) * kvm::table_entries)) | table_flags;
    }
    const std::uint64_t tables[] = {handover.vmm_level1, handover.vmm_level2, handover.vmm_level3};
    return tables[level - 2] | table_flags;
}

std::uint64_t vmm_memory_in_slot(unsigned root_index) {
    constexpr std::uint64_t sign = 0xffff000000000000;
    return root_index == map_root_index ? sign | (std::uint64_t{map_root_index} << 39U) : 0;
}

// KVM runs code there without interpreting it.
bool slot_is_reserved(unsigned root_index) {
    constexpr unsigned interpreted = 256;
    return root_index == interpreted;
}

} // namespace previrt::backend

namespace previrt::kvm {

bool entries_are_flushed() {
    return !backend::invalidation_is_queued;
}

backend::TableNumber loaded_root() {
    return backend::loaded;
}

backend::TableNumber loaded_user_root() {
    return backend::loaded_user;
}

backend::TableNumber loaded_root_of(unsigned processor) {
    return of_processor(processor, backend::loaded);
}

namespace {

// `tables`: levels 1, 2 and 3. The processor's own pages are at this guest-physical address.
void fill_user_tables(std::uint64_t* tables, std::uint64_t own_pages) {
    const auto map = [&](const std::uint8_t* place, std::uint64_t physical, std::uint64_t flags) {
        const std::uint64_t offset = reinterpret_cast<std::uint64_t>(place) - image_address;
        tables[offset >> page_shift] = physical | flags;
    };
    for (const std::uint8_t* page = backend::shared_start; page < backend::shared_end; page += page_size) {
        map(page, own_pages + static_cast<std::uint64_t>(page - processor_start), backend::level_0_flags);
    }
    map(backend::user_gate,
        handover.vmm_memory + (reinterpret_cast<std::uint64_t>(backend::user_gate) - image_address),
        backend::table_flags);
    for (const unsigned level : {2U, 3U}) {
        tables[(std::size_t{level} * table_entries) - 1] =
            physical_of(tables + ((std::size_t{level} - 2) * table_entries)) | backend::table_flags;
    }
}

} // namespace

void start_isolation() {
    if (!backend::separates_user_mode()) {
        return;
    }
    backend::user_tables = reinterpret_cast<std::uint64_t*>(take_memory(3 * page_size));
    fill_user_tables(backend::user_tables,
                     handover.vmm_memory +
                         (reinterpret_cast<std::uint64_t>(processor_start) - image_address));
    for (unsigned i = 1; i < backend::processor_count(); ++i) {
        const ProcessorMemory parts{.own_bytes = own_bytes()};
        fill_user_tables(reinterpret_cast<std::uint64_t*>(memory_of(i) + parts.user_tables()),
                         physical_of(memory_of(i)));
    }
}

} // namespace previrt::kvm
