// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/paging/shadow/tables.hpp"

#include "frontends/x86/paging/written_memory.hpp"

#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/paging/shadow/entries.hpp"
#include "frontends/x86/paging/shadow/eviction.hpp"
#include "frontends/x86/paging/shadow/pool.hpp"
#include "frontends/x86/paging/shadow/protection.hpp"
#include "frontends/x86/paging/shadow/roots.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/event_ring.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cstring>

namespace previrt {

using namespace shadow;

void start_shadow_tables(std::uint8_t* (*take_memory)(std::uint64_t bytes)) {
    const std::uint64_t frames_bytes = (backend::guest_ram_bytes() >> page_shift) * sizeof(Frame);
    start_pool(take_memory(frames_bytes + (std::uint64_t{backend::table_count()} * sizeof(Table))));
    start_protection();
    start_eviction();
}

void load_shadow_root() {
    forget_translations_of_root();
    make_room();
    const std::uint64_t frame = frame_of(vcpu.cr3);
    if (frame >= frame_count) {
        stop_guest("CR3 points outside RAM:", vcpu.cr3);
    }
    synchronize();
    const TableNumber root = find_or_make_root(frame);
    if (root == current_root) {
        backend::invalidate_all();
    } else {
        set_current_root(root);
        backend::load_root(root, tables[root].user_root);
    }
    ++complete_invalidations;
    record_event(Event::root, vcpu.cr3, root);
    free_buried_tables();
}

void shadow_flush() {
    forget_translations();
    synchronize();
    backend::invalidate_all();
    ++complete_invalidations;
}

void before_guest_write(std::uint64_t guest_physical) {
    const std::uint64_t frame = guest_physical >> page_shift;
    if (frame < frame_count && is_protected(frame)) {
        let_write(frame);
    }
    if (frame < frame_count) {
        backend::prepare_write(frame);
    }
}

void shadow_entry_written(std::uint64_t guest_physical, std::uint64_t entry, unsigned level) {
    const std::uint64_t frame = guest_physical >> page_shift;
    if (level == root_level - 1 && current_root != no_table) { // the slot of the map has no shadow below
        const std::uint64_t map = guest_table(tables[current_root].guest_frame)[backend::map_slot()];
        if ((map & page_present) != 0 && frame_of(map) == frame) {
            refuse_mapping_over_vmm(backend::map_slot(), map);
        }
    }
    if (frame >= frame_count || frames[frame].tables == no_table) {
        return;
    }
    make_room();
    const auto index =
        static_cast<unsigned>(guest_physical / sizeof(std::uint64_t)) & (entries_per_table - 1);
    for_each_table(frame, [&](TableNumber table) {
        if (tables[table].level != root_level) {
            change_entry(table, index, entry, tables[table].view);
        } else if (level >= root_level || is_loaded(table)) {
            change_root_slot(table, index, entry);
        } else {
            drop_root(table); // the guest freed it, which no annotation tells, and it is another table now
        }
    });
}

std::optional<OnlyShadow> shadow_at_most_users(std::uint64_t guest_physical) {
    const std::uint64_t frame = guest_physical >> page_shift;
    const TableNumber table = frame < frame_count ? frames[frame].tables : no_table;
    if (table == no_table) {
        return OnlyShadow{.table = no_table};
    }
    const Table& what = tables[table];
    if (what.level != 1 || what.view != View::user || what.next != no_table) {
        return std::nullopt;
    }
    return OnlyShadow{.table = table};
}

void shadow_leaf_written(OnlyShadow shadow, std::uint64_t guest_physical, std::uint64_t entry) {
    if (shadow.table != no_table) {
        const auto index =
            static_cast<unsigned>(guest_physical / sizeof(std::uint64_t)) & (entries_per_table - 1);
        const Leaf leaf{.table = shadow.table, .index = index};
        if ((entry & page_present) == 0) {
            let_leaf_wait(leaf);
        } else {
            leaf_follows(leaf);
            change_leaf(leaf, entry);
        }
    }
}

backend::TableNumber shadow_root_of(std::uint64_t address) {
    const std::uint64_t root = frame_of(root_of(address));
    if (root == frame_of(vcpu.cr3)) {
        return current_root;
    }
    const TableNumber table = find_or_make_root(root);
    backend::flush_entries(); // a new root protects pages of tables, to which the guest could write
    return table;
}

namespace {

// A root that the guest has freed keeps its shadow until the page gets other contents. Its entries may lead
// anywhere.
bool leads_through_ram(std::uint64_t root_frame, std::uint64_t address) {
    std::uint64_t frame = root_frame;
    for (unsigned level = root_level; level > 1; --level) {
        const std::uint64_t entry = guest_table(frame)[table_index(address, level)];
        if ((entry & page_present) == 0 || (entry & page_large) != 0) {
            return true;
        }
        frame = frame_of(entry);
        if (!is_ram_frame(frame)) {
            return false;
        }
    }
    return true;
}

// False: no root maps it for the kernel.
bool find_kernel_root(std::uint64_t address, Access access) {
    for (TableNumber table = 0; table < backend::table_count(); ++table) {
        const Table& what = tables[table];
        if (what.in_use && what.level == root_level && what.view == View::kernel &&
            leads_through_ram(what.guest_frame, address)) {
            const std::uint64_t root = what.guest_frame << page_shift;
            const PageWalk walk = walk_page_from(root, address, access);
            if (!walk.faults && !walk.user) {
                set_kernel_root(root);
                return true;
            }
        }
    }
    return false;
}

// Updates the shadow's entries on the path to `address` from the guest's. False: no table could be made.
bool follow_path(std::uint64_t address, const PageWalk& walk, Access access) {
    const unsigned slot = table_index(address, root_level);
    const TableNumber root = shadow_root_of(address);
    const TableNumber user_root = tables[root].user_root;
    const bool is_kernels_alone =
        !walk.user || (access.write && !access.user && supervisor_writes_anywhere());
    if (slot < lower_half && is_kernels_alone) {
        split_slot(root, slot);
    }
    change_root_slot(root, slot, walk.entry[root_level], Purpose::access);
    TableNumber table = access.user && user_root != no_table ? user_root : root;
    unsigned index = slot;
    for (unsigned level = root_level - 1; level >= 1; --level) {
        table = child_of(table, index);
        if (table == no_table) {
            return false;
        }
        index = table_index(address, level);
        if (level < walk.leaf_level) { // the table that stands for a large page
            refresh_leaf({.table = table, .index = index});
            return true;
        }
        change_entry(table, index, walk.entry[level], tables[table].view, Purpose::access);
    }
    return true;
}

} // namespace

void shadow_invalidate(std::uint64_t address) {
    forget_translation(address);
    synchronize();
    backend::invalidate_page(address);
}

bool shadow_add_alias(std::uint64_t address) {
    if (backend::vmm_entry(2, false) == 0) {
        return false;
    }
    const unsigned slot = table_index(address, root_level);
    TableNumber table = child_of(current_root, slot);
    for (unsigned level = root_level - 1; level >= 2; --level) {
        if (table == no_table || tables[table].view != View::kernel) {
            return false;
        }
        const unsigned index = table_index(address, level);
        const std::uint64_t* const entries = backend::table_entries(table);
        if (level == 2 || entries[index] == 0) {
            if (entries[index] != 0) {
                return false;
            }
            // The tables above the VMM map it in their last entry: a whole table only serves an address with
            // the same index.
            if (level > 2 && table_index(address, 2) != vmm_index) {
                return false;
            }
            backend::write_entry(table, index, backend::vmm_entry(level, false));
            backend::flush_entries();
            return true;
        }
        table = child_of(table, index);
    }
    return false;
}

void shadow_rebuild() {
    forget_translations();
    if (vcpu.number != 0) {
        return;
    }
    boot_processor_writes_anywhere = supervisor_writes_anywhere();
    if (current_root == no_table) {
        return;
    }
    drop_other_roots();
    for (unsigned i = 0; i < entries_per_table; ++i) {
        change_root_slot(current_root, i, 0);
    }
    std::memset(tables[current_root].split, 0, sizeof(tables[current_root].split));
    free_buried_tables();
    follow_table(current_root);
    backend::invalidate_all();
    ++complete_invalidations;
}

void shadow_prepare_stack(std::uint64_t stack) {
    [[gnu::section("processor")]] static std::uint64_t last_page = ~std::uint64_t{0};
    [[gnu::section("processor")]] static std::uint64_t last_removals;
    [[gnu::section("processor")]] static TableNumber last_root = no_table;
    // The stack of a processor that starts may be in the lower half, where faults map the kernel's pages.
    if (!kernel_pages_are_lazy && !vcpu.stack_may_be_missing) {
        return;
    }
    const std::uint64_t page = (stack - 1) >> page_shift;
    if (page == last_page && last_removals == removals && last_root == current_root) {
        return;
    }
    constexpr std::uint64_t pages_below = 2;
    for (std::uint64_t below = 0; below <= pages_below; ++below) {
        const std::uint64_t address = (page - below) << page_shift;
        if (!is_canonical(address) || is_the_vmms(table_index(address, root_level))) {
            break;
        }
        const PageWalk walk = walk_page(address, {.write = true});
        if (walk.faults || is_fixed(walk) || !is_ram_frame(walk.physical >> page_shift) ||
            shadow_fault(address, {.write = true}).verdict != FaultVerdict::hidden) {
            break;
        }
    }
    last_page = page;
    last_removals = removals;
    last_root = current_root;
}

ShadowFault shadow_fault(std::uint64_t address, Access access) {
    PageWalk walk = walk_page(address, access);
    if (walk.faults && !access.user && is_reserved_for_kernel(address) && find_kernel_root(address, access)) {
        walk = walk_page(address, access);
    }
    if (walk.faults) {
        return {FaultVerdict::guest, walk.error_code};
    }
    if (is_fixed(walk)) {
        stop_guest("the VMM's own mapping of the kernel is missing, at", address);
    }
    const unsigned slot = table_index(address, root_level);
    if (is_the_vmms(slot)) {
        stop_guest("the guest uses an address that is not its own:", address);
    }
    if (!is_ram_frame(walk.physical >> page_shift)) {
        if (access.fetch) {
            stop_guest("the guest executes code outside RAM, at", walk.physical);
        }
        return {FaultVerdict::device, 0};
    }
    make_room();
    if (!mark_accessed(walk, access.write)) {
        return shadow_fault(address, access);
    }
    if (access.write) {
        before_guest_write(walk.physical);
    }
    if (!follow_path(address, walk, access)) {
        drop_all_tables();
        if (!follow_path(address, walk, access)) {
            stop_guest("the shadow tables do not follow the guest's at", address);
        }
    }
    // The page holds a table on the path to itself, which had no shadow until now.
    if (access.write && is_protected(walk.physical >> page_shift)) {
        before_guest_write(walk.physical);
        (void)follow_path(address, walk, access);
    }
    backend::flush_entries();
    return {FaultVerdict::hidden, 0};
}

} // namespace previrt
