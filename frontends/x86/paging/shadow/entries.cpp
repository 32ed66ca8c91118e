// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/paging/shadow/entries.hpp"

#include "frontends/x86/paging/shadow/protection.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt::shadow {

std::uint64_t leaf_entry(View view, std::uint64_t guest_entry, std::uint64_t guest_frame) {
    const bool user = (guest_entry & page_user) != 0;
    const bool is_lazy =
        (guest_entry & page_accessed) == 0 || (guest_entry & (page_writable | page_dirty)) == page_writable;
    if (!user && (guest_entry & page_present) != 0 && is_lazy) {
        kernel_pages_are_lazy = true;
    }
    if ((guest_entry & page_present) == 0 || (guest_entry & page_accessed) == 0 ||
        (view == View::user && !user) || !is_ram_frame(guest_frame) || has_reserved_bits(1, guest_entry)) {
        return 0;
    }
    // With CR0.WP clear a supervisor writes anywhere; pages that user mode sees too stay read-only.
    const bool writable =
        (guest_entry & page_writable) != 0 || (supervisor_writes_anywhere() && view == View::kernel);
    std::uint64_t entry = (backend::machine_frame(guest_frame) << page_shift) | page_present | page_user |
                          (backend::sets_accessed_bits() ? 0 : std::uint64_t{page_accessed});
    if (writable && (guest_entry & page_dirty) != 0 && !is_protected(guest_frame)) {
        entry |= page_writable | page_dirty;
    }
    return entry | (guest_entry & page_no_execute);
}

namespace {

std::uint64_t link_entry(TableNumber child, std::uint64_t guest_entry) {
    const bool is_always_writable = supervisor_writes_anywhere() && tables[child].view == View::kernel;
    const std::uint64_t writable = is_always_writable ? page_writable : guest_entry & page_writable;
    return (backend::table_machine_frame(child) << page_shift) | page_present | page_user | page_accessed |
           page_dirty | writable | (guest_entry & page_no_execute);
}

void drop(TableNumber table) {
    const Table& what = tables[table];
    const std::uint64_t* const entries = backend::table_entries(table);
    for_each_entry(entries, [&](unsigned index) {
        if (what.level > 1) {
            unlink_entry(entries[index]);
        } else if ((entries[index] & page_present) != 0) {
            note_leaf({.table = table, .index = index}, entries[index], 0);
        }
    });
    if (what.large_entry == 0) {
        unchain_table(table);
    }
    backend::retire_table(table);
    bury_table(table);
}

// A processor may set accessed bits in advance too. The table below is followed from now on, so that no
// mapping over the VMM is missed.
std::uint64_t use_in_advance(TableNumber table, unsigned index) {
    const std::uint64_t place =
        (tables[table].guest_frame << page_shift) + (std::uint64_t{index} * sizeof(std::uint64_t));
    auto* const entry = reinterpret_cast<std::uint64_t*>(physical_memory(place, sizeof(std::uint64_t)));
    if (entry == nullptr) {
        stop_guest("a page table lies outside RAM, at", place);
    }
    std::uint64_t now = __atomic_load_n(entry, __ATOMIC_RELAXED);
    while ((now & page_present) != 0) {
        if (__atomic_compare_exchange_n(entry, &now, now | page_accessed, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            return now | page_accessed;
        }
    }
    return now; // another processor has taken it away
}

std::uint64_t entry_for(TableNumber table, unsigned index, std::uint64_t guest_entry, View child_view,
                        Purpose purpose);

void fill(TableNumber table) {
    const Table& what = tables[table];
    std::uint64_t* const entries = backend::table_entries(table);
    if (what.large_entry != 0) {
        for (unsigned i = 0; i < entries_per_table; ++i) {
            entries[i] = leaf_entry(what.view, what.large_entry, what.guest_frame + i);
            note_leaf({.table = table, .index = i}, 0, entries[i]);
        }
        return;
    }
    const std::uint64_t* const from = guest_table(what.guest_frame);
    for_each_entry(from, [&](unsigned index) {
        // With few tables left, hidden faults make the tables below: only used ones take memory.
        const bool waits = what.level > 1 && what.is_lower && free_table_count() < backend::table_count() / 4;
        if (waits || (from[index] & page_present) == 0) {
            return;
        }
        entries[index] = entry_for(table, index, from[index], what.view, Purpose::in_advance);
        if (what.level == 1) {
            note_leaf({.table = table, .index = index}, 0, entries[index]);
        }
    });
    if (what.holds_vmm && entries[vmm_index] == 0) {
        entries[vmm_index] = backend::vmm_entry(what.level, what.view == View::user);
    }
}

bool may_take_table(Purpose purpose) {
    if (purpose == Purpose::in_advance && free_table_count() < tables_kept_for_faults()) {
        free_buried_tables();
    }
    return purpose == Purpose::access || free_table_count() >= tables_kept_for_faults();
}

TableNumber make(unsigned level, std::uint64_t guest_frame, std::uint64_t large_entry, View view,
                 bool holds_vmm, bool is_lower, Purpose purpose) {
    const TableNumber table = may_take_table(purpose) ? allocate_table() : no_table;
    if (table == no_table) {
        kernel_pages_are_lazy = kernel_pages_are_lazy || view == View::kernel;
        return no_table;
    }
    Table& what = tables[table];
    what.guest_frame = guest_frame;
    what.large_entry = large_entry;
    what.level = static_cast<std::uint8_t>(level);
    what.view = view;
    what.holds_vmm = holds_vmm;
    what.is_lower = is_lower;
    if (large_entry == 0) {
        chain_table(table);
    }
    fill(table);
    backend::publish_table(table);
    return table;
}

// The entry of `table` for `guest_entry`; makes its child if necessary. 0: not yet, or not at all.
std::uint64_t entry_for(TableNumber table, unsigned index, std::uint64_t guest_entry, View child_view,
                        Purpose purpose) {
    const unsigned level = tables[table].level;
    const bool last = tables[table].holds_vmm && index == vmm_index;
    if (level == 1) {
        return leaf_entry(child_view, guest_entry, frame_of(guest_entry));
    }
    if (last && level == 2) {
        if ((guest_entry & page_present) != 0) {
            // The guest's kernel reaches the VMM there, so no access would fault and reveal the mapping. The
            // table below has no shadow, so its mere presence must stop the guest. Linux leaves this hole
            // (Documentation/arch/x86/x86_64/mm.rst).
            stop_guest("the guest maps memory over the VMM, which has the 2 MiB from", backend::vmm_address);
        }
        return backend::vmm_entry(level, child_view == View::user); // the VMM has these 2 MiB
    }
    const std::uint64_t absent = last ? backend::vmm_entry(level, child_view == View::user) : 0;
    if (last && (guest_entry & (page_present | page_accessed)) == page_present &&
        !has_reserved_bits(level, guest_entry)) {
        guest_entry = use_in_advance(table, index);
    }
    if ((guest_entry & (page_present | page_accessed)) == page_present) {
        kernel_pages_are_lazy = true;
    }
    if ((guest_entry & page_present) == 0 || (guest_entry & page_accessed) == 0 ||
        (child_view == View::user && (guest_entry & page_user) == 0) ||
        has_reserved_bits(level, guest_entry)) {
        return absent;
    }
    const std::uint64_t frame = frame_of(guest_entry);
    const bool is_lower = level == root_level ? index < lower_half : tables[table].is_lower;
    if ((guest_entry & page_large) != 0) {
        if (level != 2 || frame >= frame_count) {
            return absent; // reserved bits, or no RAM
        }
        const TableNumber child = make(1, frame & ~std::uint64_t{entries_per_table - 1}, guest_entry,
                                       child_view, false, is_lower, purpose);
        if (child == no_table) {
            return absent;
        }
        tables[child].parents = 1;
        tables[child].named_by = {.table = table, .index = index};
        return link_entry(child, page_writable | (guest_entry & page_no_execute));
    }
    if (!is_ram_frame(frame)) {
        return absent;
    }
    const bool holds_vmm = last;
    TableNumber child = find_table(level - 1, frame, child_view, holds_vmm);
    if (child == no_table) {
        // Entries that may lead to a mapping over the VMM are never left out.
        child =
            make(level - 1, frame, 0, child_view, holds_vmm, is_lower, holds_vmm ? Purpose::access : purpose);
    }
    if (child == no_table) {
        return absent;
    }
    ++tables[child].parents;
    tables[child].named_by = {.table = table, .index = index};
    return link_entry(child, guest_entry);
}

// Ignores the bits that the processor itself sets.
bool differ(std::uint64_t one, std::uint64_t other) {
    return ((one ^ other) & ~std::uint64_t{page_accessed}) != 0;
}

bool is_made_of(std::uint64_t shadow, std::uint64_t guest) {
    const TableNumber child = table_in(shadow);
    return child != no_table && tables[child].large_entry == guest;
}

} // namespace

void refresh_leaf(Leaf leaf) {
    const Table& table = tables[leaf.table];
    const bool is_large = table.large_entry != 0;
    const std::uint64_t guest_entry =
        is_large ? table.large_entry : guest_table(table.guest_frame)[leaf.index];
    const std::uint64_t frame = is_large ? table.guest_frame + leaf.index : frame_of(guest_entry);
    const std::uint64_t before = backend::table_entries(leaf.table)[leaf.index];
    const std::uint64_t after = leaf_entry(table.view, guest_entry, frame);
    if (differ(before, after)) {
        note_leaf(leaf, before, after);
        backend::write_entry(leaf.table, leaf.index, after);
    }
}

void unlink_entry(std::uint64_t entry) {
    const TableNumber child = table_in(entry);
    if (child != no_table && --tables[child].parents == 0) {
        drop(child);
    }
}

void change_leaf(Leaf leaf, std::uint64_t guest_entry) {
    const std::uint64_t old = real_entry(leaf);
    const std::uint64_t entry = leaf_entry(tables[leaf.table].view, guest_entry, frame_of(guest_entry));
    if (differ(entry, old)) {
        note_leaf(leaf, old, entry);
        removals += (old & page_present) != 0 ? 1 : 0;
        ++counters.entries_written;
        backend::write_entry(leaf.table, leaf.index, entry);
    }
}

void change_entry(TableNumber table, unsigned index, std::uint64_t guest_entry, View view_below,
                  Purpose purpose) {
    if (tables[table].level == 1) {
        change_leaf({.table = table, .index = index}, guest_entry);
        return;
    }
    const std::uint64_t old = backend::table_entries(table)[index];
    if ((guest_entry & page_large) != 0 && tables[table].level == 2 && is_made_of(old, guest_entry)) {
        return;
    }
    const std::uint64_t entry = entry_for(table, index, guest_entry, view_below, purpose);
    if (differ(entry, old)) {
        removals += (old & page_present) != 0 ? 1 : 0;
        ++counters.entries_written;
        backend::write_entry(table, index, entry);
    }
    // If the entry stays the same, its child has been counted twice.
    if ((old & page_present) != 0) {
        unlink_entry(old);
    }
}

} // namespace previrt::shadow
