// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/paging/shadow/roots.hpp"

#include "frontends/x86/paging/shadow/entries.hpp"
#include "frontends/x86/paging/shadow/eviction.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/stop.hpp"

namespace previrt::shadow {

namespace {

bool is_split(const Table& root, unsigned index) {
    return ((root.split[index / 64] >> (index % 64)) & 1U) != 0;
}

View view_below(const Table& root, unsigned index) {
    return index < lower_half && !is_split(root, index) ? View::user : View::kernel;
}

TableNumber make_root(std::uint64_t guest_frame) {
    make_room();
    const bool is_pair = backend::separates_user_mode();
    const TableNumber root = allocate_table();
    const TableNumber user = is_pair ? allocate_table() : no_table;
    if (root == no_table || (is_pair && user == no_table)) {
        stop_guest("the pool has no room for the tables of one access");
    }
    for (const TableNumber table : {root, user}) {
        if (table == no_table) {
            continue;
        }
        Table& what = tables[table];
        what.guest_frame = guest_frame;
        what.level = root_level;
        what.view = table == root ? View::kernel : View::user;
        const std::uint64_t entry = backend::vmm_entry(root_level, what.view == View::user);
        what.holds_vmm = entry != 0;
        backend::table_entries(table)[vmm_index] = entry;
    }
    tables[root].user_root = user;
    chain_table(root);
    backend::table_entries(root)[backend::map_slot()] = backend::map_entry();
    backend::publish_table(root);
    if (is_pair) {
        backend::publish_table(user);
    }
    backend::pin_root(root, user);
    follow_table(root);
    return root;
}

TableNumber find_root(std::uint64_t guest_frame) {
    const bool holds_vmm = backend::vmm_entry(root_level, false) != 0;
    return find_table(root_level, guest_frame, View::kernel, holds_vmm);
}

// The roots with shadows are searched for mappings that only the kernel's own root has.
bool may_be_kernels_root(std::uint64_t guest_frame) {
    const std::optional<std::uint64_t> reserved = unfound_kernel_address();
    if (!reserved) {
        return false;
    }
    const std::uint64_t slot = guest_table(guest_frame)[table_index(*reserved, root_level)];
    if ((slot & page_present) == 0 || !is_ram_frame(frame_of(slot))) {
        return false;
    }
    const std::uint64_t entry = guest_table(frame_of(slot))[table_index(*reserved, root_level - 1)];
    return (entry & page_present) != 0 && (entry & slot & page_user) == 0;
}

} // namespace

// If the VMM has only a part of the slot, the guest's level-3 table decides whether it maps that part.
void refuse_mapping_over_vmm(unsigned root_index, std::uint64_t guest_entry) {
    const std::uint64_t first = backend::vmm_memory_in_slot(root_index);
    if (first == 0 || (guest_entry & page_present) == 0) {
        return;
    }
    constexpr unsigned below = root_level - 1;
    unsigned index = table_index(first, below);
    if (index != 0 && is_ram_frame(frame_of(guest_entry))) {
        const std::uint64_t* const entries = guest_table(frame_of(guest_entry));
        while (index < entries_per_table && (entries[index] & page_present) == 0) {
            ++index;
        }
    }
    if (index < entries_per_table) {
        stop_guest("the guest maps memory over the VMM, which has the addresses from", first);
    }
}

bool is_the_vmms(unsigned root_index) {
    return root_index == backend::map_slot() || backend::slot_is_reserved(root_index);
}

TableNumber find_or_make_root(std::uint64_t guest_frame) {
    const TableNumber root = find_root(guest_frame);
    return root != no_table ? root : make_root(guest_frame);
}

void split_slot(TableNumber root, unsigned index) {
    tables[root].split[index / 64] |= std::uint64_t{1} << (index % 64);
}

void change_root_slot(TableNumber root, unsigned index, std::uint64_t guest_entry, Purpose purpose) {
    if (is_the_vmms(index)) {
        refuse_mapping_over_vmm(index, guest_entry);
        return;
    }
    const Table& what = tables[root];
    if (index < lower_half && (guest_entry & (page_present | page_user)) == page_present) {
        split_slot(root, index); // user mode sees none of it
    }
    change_entry(root, index, guest_entry, view_below(what, index), purpose);
    if (what.user_root != no_table) {
        change_entry(what.user_root, index, guest_entry, View::user, purpose);
    }
}

void follow_table(TableNumber table) {
    const Table& what = tables[table];
    const std::uint64_t* const from = guest_table(what.guest_frame);
    const std::uint64_t* const entries = backend::table_entries(table);
    // The two roots of a pair lose their entries to eviction one by one.
    const TableNumber user_root = what.level == root_level ? what.user_root : no_table;
    const std::uint64_t* const user_entries =
        user_root == no_table ? entries : backend::table_entries(user_root);
    for (unsigned i = 0; i < entries_per_table; ++i) {
        if ((from[i] | entries[i] | user_entries[i]) == 0) {
            continue;
        }
        if (what.level == root_level) {
            change_root_slot(table, i, from[i]);
        } else {
            change_entry(table, i, from[i], what.view);
        }
    }
}

void drop_root(TableNumber root) {
    const TableNumber user = tables[root].user_root;
    unchain_table(root);
    backend::unpin_root(root, user);
    for (const TableNumber table : {root, user}) {
        if (table == no_table) {
            continue;
        }
        const std::uint64_t* const entries = backend::table_entries(table);
        for_each_entry(entries, [&](unsigned index) {
            if (!is_the_vmms(index)) {
                unlink_entry(entries[index]);
            }
        });
        backend::retire_table(table);
        bury_table(table);
    }
}

void drop_unused_root(std::uint64_t guest_frame) {
    const TableNumber root = find_root(guest_frame);
    if (root != no_table && !is_loaded(root)) {
        drop_root(root);
    }
}

void drop_other_roots() {
    for (TableNumber table = 0; table < backend::table_count(); ++table) {
        const Table& what = tables[table];
        if (what.in_use && what.level == root_level && what.view == View::kernel && !is_loaded(table) &&
            !may_be_kernels_root(what.guest_frame)) {
            drop_root(table);
        }
    }
    free_buried_tables();
}

} // namespace previrt::shadow
