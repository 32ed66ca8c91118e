// SPDX-License-Identifier: BSD-2-Clause
#include "backends/kvm/deprivileged/stale_entries.hpp"

#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/backend/memory.hpp"

#include <span>

namespace previrt::kvm {

namespace {

using backend::TableNumber;

// A level-1 entry, which more than one address may reach.
struct Change {
    TableNumber table;
    unsigned index;
    std::uint64_t invalidated; // the page for which it was invalidated since, or no_page
};
constexpr std::uint64_t no_page = ~std::uint64_t{0};
constexpr unsigned most_changes = 64;
Change changes[most_changes];
unsigned change_count;
bool are_complete = true; // the list has all changes

Change* find_change(TableNumber table, unsigned index) {
    for (Change& change : std::span(changes, change_count)) {
        if (change.table == table && change.index == index) {
            return &change;
        }
    }
    return nullptr;
}

bool is_leaf(std::uint64_t entry) {
    return backend::guest_frame_of(machine_frame_in(entry)) < backend::guest_ram_bytes() >> page_shift;
}

} // namespace

void note_change(TableNumber table, unsigned index, std::uint64_t old) {
    constexpr std::uint64_t remembered = page_present | page_accessed;
    if ((old & remembered) != remembered || !are_complete) {
        return;
    }
    if (Change* const known = find_change(table, index)) {
        known->invalidated = no_page;
    } else if (is_leaf(old) && change_count < most_changes) {
        changes[change_count++] = {.table = table, .index = index, .invalidated = no_page};
    } else {
        are_complete = false;
    }
}

void forget_changes() {
    change_count = 0;
    are_complete = true;
}

bool take_change(TableNumber root, std::uint64_t address) {
    TableNumber table = root;
    for (unsigned level = root_level; level > 1 && table != no_table; --level) {
        const std::uint64_t entry = backend::table_entries(table)[table_index(address, level)];
        table = (entry & page_present) != 0 ? backend::table_at(machine_frame_in(entry)) : no_table;
    }
    Change* const change = table == no_table ? nullptr : find_change(table, table_index(address, 1));
    const std::uint64_t page = address >> page_shift;
    if (change == nullptr || change->invalidated == page) {
        return !are_complete;
    }
    if (change->invalidated == no_page) {
        change->invalidated = page;
    }
    return true;
}

bool is_unchanged(TableNumber table, unsigned index) {
    return are_complete && find_change(table, index) == nullptr;
}

} // namespace previrt::kvm
