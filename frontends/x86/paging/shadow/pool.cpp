// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/paging/shadow/pool.hpp"

#include "devices/local_apic/local_apics.hpp"
#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/paging/shadow/protection.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/stop.hpp"

#include <algorithm>

namespace previrt::shadow {

[[gnu::section(".bss.cache")]] Table* tables;
[[gnu::section(".bss.cache")]] Frame* frames;
[[gnu::section(".bss.cache")]] std::uint64_t frame_count;
[[gnu::section("processor")]] TableNumber current_root = no_table;
[[gnu::section(".bss.cache")]] bool boot_processor_writes_anywhere;
[[gnu::section(".bss.cache")]] bool kernel_pages_are_lazy;
[[gnu::section(".bss.cache")]] std::uint64_t removals;
[[gnu::section(".data.cache")]] std::uint32_t complete_invalidations = 1;

namespace {

[[gnu::section(".bss.cache")]] TableNumber loaded_roots[LocalApics::most]; // by processor; or no_table
[[gnu::section(".bss.cache")]] TableNumber free_list;
[[gnu::section(".bss.cache")]] std::uint32_t free_count;

// The hypervisor may check each store to a former page table, and most entries are 0 already.
void clear(std::uint64_t* entries) {
    for_each_entry(entries, [&](unsigned index) { entries[index] = 0; });
}

constexpr unsigned most_buried = 128;
[[gnu::section(".bss.cache")]] TableNumber buried[most_buried];
[[gnu::section(".bss.cache")]] unsigned buried_count;

} // namespace

void start_pool(std::uint8_t* memory) {
    frame_count = backend::guest_ram_bytes() >> page_shift;
    tables = reinterpret_cast<Table*>(memory);
    frames = reinterpret_cast<Frame*>(tables + backend::table_count());
    for (std::uint64_t frame = 0; frame < frame_count; ++frame) {
        frames[frame] = {.tables = no_table,
                         .writer = {},
                         .writers = 0,
                         .let_go = 0,
                         .unsynchronized = false,
                         .replaced = false};
    }
    free_list = no_table;
    for (TableNumber table = backend::table_count(); table > 0; --table) {
        tables[table - 1] = {};
        tables[table - 1].next = free_list;
        free_list = table - 1;
    }
    free_count = backend::table_count();
    buried_count = 0;
    current_root = no_table;
    std::ranges::fill(loaded_roots, no_table);
    kernel_pages_are_lazy = false;
    removals = 0;
}

void set_current_root(TableNumber root) {
    current_root = root;
    loaded_roots[vcpu.number % std::size(loaded_roots)] = root;
}

bool is_loaded(TableNumber root) {
    return std::ranges::find(loaded_roots, root) != std::end(loaded_roots);
}

TableNumber allocate_table() {
    if (free_list == no_table) {
        free_buried_tables();
    }
    const TableNumber table = free_list;
    if (table == no_table) {
        ++counters.pool_exhausted;
        return no_table;
    }
    free_list = tables[table].next;
    --free_count;
    ++counters.tables_made;
    tables[table] = {};
    tables[table].in_use = true;
    return table;
}

void bury_table(TableNumber table) {
    if (buried_count == most_buried) {
        free_buried_tables();
    }
    tables[table].in_use = false;
    buried[buried_count++] = table;
    ++counters.tables_dropped;
}

void free_buried_tables() {
    if (buried_count == 0) {
        return;
    }
    backend::forget_retired_tables();
    for (unsigned i = 0; i < buried_count; ++i) {
        clear(backend::table_entries(buried[i]));
        tables[buried[i]].next = free_list;
        free_list = buried[i];
        ++free_count;
    }
    buried_count = 0;
}

std::uint32_t free_table_count() {
    return free_count;
}

std::uint32_t least_free_tables() {
    constexpr std::uint32_t enough = 64;
    return std::min(enough, backend::table_count() / 4);
}

std::uint32_t tables_kept_for_faults() {
    return least_free_tables() / 2;
}

void chain_table(TableNumber table) {
    const std::uint64_t frame = tables[table].guest_frame;
    const bool is_first = frames[frame].tables == no_table;
    tables[table].next = frames[frame].tables;
    frames[frame].tables = table;
    if (is_first) {
        protect_frame(frame);
    }
}

void unchain_table(TableNumber table) {
    const std::uint64_t frame = tables[table].guest_frame;
    TableNumber* link = &frames[frame].tables;
    while (*link != table) {
        link = &tables[*link].next;
    }
    *link = tables[table].next;
    if (frames[frame].tables == no_table) {
        frames[frame].unsynchronized = false;
        release_frame(frame);
    }
}

TableNumber find_table(unsigned level, std::uint64_t guest_frame, View view, bool holds_vmm) {
    for (TableNumber table = frames[guest_frame].tables; table != no_table; table = tables[table].next) {
        const Table& what = tables[table];
        if (what.level == level && what.view == view && what.holds_vmm == holds_vmm) {
            return table;
        }
    }
    return no_table;
}

const std::uint64_t* guest_table(std::uint64_t guest_frame) {
    const std::uint8_t* const bytes = physical_memory(guest_frame << page_shift, page_bytes);
    if (bytes == nullptr) {
        stop_guest("a page table lies outside RAM, in frame", guest_frame);
    }
    return reinterpret_cast<const std::uint64_t*>(bytes);
}

} // namespace previrt::shadow
