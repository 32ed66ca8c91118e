// SPDX-License-Identifier: BSD-2-Clause
#include "backends/kvm/stale_entries.hpp"

#include "frontends/x86/page_entry.hpp"

namespace previrt::kvm {

namespace {

using backend::TableNumber;

constexpr TableNumber no_table = ~TableNumber{0};

// Of level 1.
struct Place {
    TableNumber table;
    unsigned index;
};
constexpr unsigned most_changed = 32;
Place changed[most_changed];
unsigned changed_count;
bool is_complete = true; // all that changed is among them

bool take(TableNumber table, unsigned index) {
    for (unsigned i = 0; i < changed_count; ++i) {
        if (changed[i].table == table && changed[i].index == index) {
            changed[i] = changed[--changed_count];
            return true;
        }
    }
    return false;
}

} // namespace

void note_change(TableNumber table, unsigned index, std::uint64_t old) {
    constexpr std::uint64_t remembered = page_present | page_accessed;
    if ((old & remembered) != remembered) {
        return;
    }
    const bool is_leaf =
        backend::guest_frame_of(machine_frame_in(old)) < backend::guest_ram_bytes() >> page_shift;
    take(table, index);
    if (!is_leaf || changed_count == most_changed) {
        is_complete = false;
        return;
    }
    changed[changed_count++] = {.table = table, .index = index};
}

void forget_changes() {
    changed_count = 0;
    is_complete = true;
}

bool take_change(TableNumber root, std::uint64_t address) {
    TableNumber table = root;
    for (unsigned level = root_level; level > 1 && table != no_table; --level) {
        const std::uint64_t entry = backend::table_entries(table)[table_index(address, level)];
        table = (entry & page_present) != 0 ? backend::table_at(machine_frame_in(entry)) : no_table;
    }
    const bool was_changed = table != no_table && take(table, table_index(address, 1));
    return was_changed || !is_complete;
}

} // namespace previrt::kvm
