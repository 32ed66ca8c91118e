// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/paging/shadow/eviction.hpp"

#include "frontends/x86/paging/shadow/entries.hpp"
#include "frontends/x86/paging/shadow/roots.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/counters.hpp"

namespace previrt::shadow {

namespace {

// In turn, by number: all other tables go before a table that was just made.
struct Clock {
    TableNumber next;
};
[[gnu::section(".bss.cache")]] Clock hand;

enum class Part : std::uint8_t {
    user_mode, // tables without kernel pages
    lower_half,
    // The tables of a kernel's stack go last: a hypervisor may push frames on that stack.
    everything,
};

struct Lap {
    Part part;
    unsigned highest_level; // with all tables below
};
constexpr Lap laps[] = {
    {.part = Part::user_mode, .highest_level = 1},
    {.part = Part::user_mode, .highest_level = 2},
    {.part = Part::lower_half, .highest_level = 2},
    {.part = Part::everything, .highest_level = 2},
};

bool is_of(const Lap& lap, const Table& table) {
    return table.level <= lap.highest_level &&
           (lap.part == Part::everything ||
            (table.is_lower && (lap.part == Part::lower_half || table.view == View::user)));
}

// A single known entry names it, and it is no root: nothing else leads to it.
bool may_go(TableNumber number) {
    const Table& table = tables[number];
    return table.in_use && !table.holds_vmm && table.parents == 1 && tables[table.named_by.table].in_use &&
           child_of(table.named_by.table, table.named_by.index) == number;
}

void evict(TableNumber number) {
    const EntryPlace place = tables[number].named_by;
    const std::uint64_t entry = backend::table_entries(place.table)[place.index];
    kernel_pages_are_lazy = kernel_pages_are_lazy || tables[number].view == View::kernel;
    ++removals;
    ++counters.tables_evicted;
    backend::write_entry(place.table, place.index, 0);
    unlink_entry(entry);
}

void evict_until(std::uint32_t wanted) {
    for (const Lap& lap : laps) {
        const bool is_users = lap.part == Part::user_mode;
        if (free_table_count() >= (is_users ? wanted : least_free_tables())) {
            return;
        }
        std::uint32_t evicted = 0;
        for (TableNumber i = 0; i < backend::table_count(); ++i) {
            if (free_table_count() + evicted >= wanted) {
                free_buried_tables();
                evicted = 0;
                if (free_table_count() >= wanted) {
                    return;
                }
            }
            hand.next = (hand.next + 1) % backend::table_count();
            if (is_of(lap, tables[hand.next]) && may_go(hand.next)) {
                evict(hand.next);
                ++evicted;
            }
        }
        free_buried_tables();
    }
}

} // namespace

void start_eviction() {
    hand = {.next = 0};
}

void make_room() {
    if (free_table_count() >= least_free_tables()) {
        return;
    }
    free_buried_tables();
    if (free_table_count() >= least_free_tables()) {
        return;
    }
    // Most tables belong to ended processes, of whose end nothing tells.
    drop_other_roots();
    // Then one address space needs that many. Evicts many at a time, because each turn costs an invalidation.
    evict_until((backend::table_count() / 8) + least_free_tables());
    if (free_table_count() < least_free_tables()) {
        drop_all_tables();
    }
}

void drop_all_tables() {
    drop_other_roots();
    for (TableNumber root = 0; root < backend::table_count(); ++root) {
        if (!tables[root].in_use || tables[root].level != root_level || tables[root].view != View::kernel) {
            continue;
        }
        for (unsigned index = 0; index < entries_per_table; ++index) {
            change_root_slot(root, index, 0);
        }
    }
    ++removals;
    kernel_pages_are_lazy = true;
    free_buried_tables();
}

} // namespace previrt::shadow
