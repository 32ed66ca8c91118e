// SPDX-License-Identifier: BSD-2-Clause
#include "backends/kvm/deprivileged/stale_entries.hpp"

#include "backends/kvm/deprivileged/processor_roots.hpp"
#include "backends/kvm/deprivileged/processors.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/processors.hpp"

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
struct Changes {
    Change list[most_changes];
    unsigned count;
    bool are_complete = true; // the list has all changes

    Change* find(TableNumber table, unsigned index) {
        for (Change& change : std::span(list, count)) {
            if (change.table == table && change.index == index) {
                return &change;
            }
        }
        return nullptr;
    }
    void note(TableNumber table, unsigned index, bool is_leaf) {
        if (!are_complete) {
            return;
        }
        if (Change* const known = find(table, index)) {
            known->invalidated = no_page;
        } else if (is_leaf && count < most_changes) {
            list[count++] = {.table = table, .index = index, .invalidated = no_page};
        } else {
            are_complete = false;
        }
    }
};
[[gnu::section("processor")]] constinit Changes changes{};

bool is_leaf(std::uint64_t entry) {
    return backend::guest_frame_of(machine_frame_in(entry)) < backend::guest_ram_bytes() >> page_shift;
}

} // namespace

void note_change(TableNumber table, unsigned index, std::uint64_t old) {
    constexpr std::uint64_t remembered = page_present | page_accessed;
    const std::uint64_t cached = is_copied(table) ? old | page_accessed : old;
    if ((cached & remembered) != remembered) {
        return;
    }
    for (unsigned i = 0; i < backend::processor_count(); ++i) {
        of_processor(i, changes).note(table, index, is_leaf(old));
    }
}

void forget_changes() {
    changes.count = 0;
    changes.are_complete = true;
}

bool take_change(TableNumber root, std::uint64_t address) {
    TableNumber table = root;
    for (unsigned level = root_level; level > 1 && table != no_table; --level) {
        const std::uint64_t entry = backend::table_entries(table)[table_index(address, level)];
        table = (entry & page_present) != 0 ? backend::table_at(machine_frame_in(entry)) : no_table;
    }
    Change* const change = table == no_table ? nullptr : changes.find(table, table_index(address, 1));
    const std::uint64_t page = address >> page_shift;
    if (change == nullptr || change->invalidated == page) {
        return !changes.are_complete;
    }
    if (change->invalidated == no_page) {
        change->invalidated = page;
    }
    return true;
}

bool is_unchanged(TableNumber table, unsigned index) {
    return changes.are_complete && changes.find(table, index) == nullptr;
}

} // namespace previrt::kvm
