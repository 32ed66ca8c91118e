// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/shadow_tables.hpp"

#include "frontends/x86/guest_memory.hpp"
#include "inplace-vmm/backend.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/event_ring.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cstring>

namespace previrt {

namespace {

using backend::TableNumber;

constexpr TableNumber no_table = ~TableNumber{0};
constexpr unsigned lower_half = entries_per_table / 2;

// Who sees a table. Most of the lower half is open to user mode, so both views of a root share its tables,
// and a supervisor's page there splits the slot.
enum class View : std::uint8_t {
    kernel, // every page
    user,   // pages open to user mode
};

struct Table {
    std::uint64_t guest_frame; // of the guest table; of the first page, in a large page
    std::uint64_t large_entry; // the guest entry of that large page, or 0
    TableNumber next;          // of the same guest frame, or of the free list
    std::uint32_t parents;     // entries that name it; a root has none
    TableNumber user_root;     // of a kernel root
    TableNumber mirror;        // of a kernel root: the guest entries it was made from
    std::uint8_t level;
    View view;
    bool holds_vmm; // on the way to the last 2 MiB
    std::uint64_t split[lower_half / 64];
};

Table* tables;
TableNumber* table_of_frame; // first of the tables of a guest frame
std::uint64_t guest_frames;
TableNumber free_list;
std::uint32_t free_tables;
TableNumber current_root = no_table;

// Unlinked, and zeroed once the hypervisor has forgotten them.
constexpr unsigned most_dying = 128;
TableNumber dying[most_dying];
unsigned dying_count;

// Some page of the kernel's is not mapped, or not writable, before its first use: see shadow_prepare_stack.
bool kernel_pages_are_lazy;
// Counts what takes a mapping away.
std::uint64_t removals;

// Kept free, so that one fault can always be served.
constexpr std::uint32_t least_free = 64;

void free_dying() {
    if (dying_count == 0) {
        return;
    }
    backend::flush_entries();
    for (unsigned i = 0; i < dying_count; ++i) {
        std::memset(backend::table_entries(dying[i]), 0, page_bytes);
        tables[dying[i]].next = free_list;
        free_list = dying[i];
        ++free_tables;
    }
    dying_count = 0;
}

TableNumber allocate() {
    if (free_list == no_table) {
        free_dying();
    }
    const TableNumber table = free_list;
    if (table == no_table) {
        ++counters.pool_exhausted;
        return no_table;
    }
    free_list = tables[table].next;
    --free_tables;
    ++counters.tables_made;
    tables[table] = {};
    return table;
}

void bury(TableNumber table) {
    if (dying_count == most_dying) {
        free_dying();
    }
    dying[dying_count++] = table;
    ++counters.tables_dropped;
}

// ---- chains by guest frame

void chain(TableNumber table) {
    TableNumber& head = table_of_frame[tables[table].guest_frame];
    tables[table].next = head;
    head = table;
}

void unchain(TableNumber table) {
    TableNumber* link = &table_of_frame[tables[table].guest_frame];
    while (*link != table) {
        link = &tables[*link].next;
    }
    *link = tables[table].next;
}

const std::uint64_t* guest_table(std::uint64_t guest_frame) {
    const std::uint8_t* const bytes = physical_memory(guest_frame << page_shift, page_bytes);
    if (bytes == nullptr) {
        stop_guest("a page table lies outside RAM, in frame", guest_frame);
    }
    return reinterpret_cast<const std::uint64_t*>(bytes);
}

// ---- entries

std::uint64_t leaf_entry(View view, std::uint64_t guest_entry, std::uint64_t guest_frame) {
    const bool user = (guest_entry & page_user) != 0;
    const bool is_lazy =
        (guest_entry & page_accessed) == 0 || (guest_entry & (page_writable | page_dirty)) == page_writable;
    if (!user && (guest_entry & page_present) != 0 && is_lazy) {
        kernel_pages_are_lazy = true;
    }
    if ((guest_entry & page_present) == 0 || (guest_entry & page_accessed) == 0 ||
        (view == View::user && !user) || guest_frame >= guest_frames) {
        return 0;
    }
    // With CR0.WP clear a supervisor writes anywhere; what user mode sees too stays read-only.
    const bool writable =
        (guest_entry & page_writable) != 0 || ((vcpu.cr0 & cr0_wp) == 0 && view == View::kernel);
    std::uint64_t entry =
        (backend::machine_frame(guest_frame) << page_shift) | page_present | page_user | page_accessed;
    if (writable && (guest_entry & page_dirty) != 0) {
        entry |= page_writable | page_dirty;
    }
    return entry | (guest_entry & page_no_execute);
}

std::uint64_t link_entry(TableNumber child, std::uint64_t guest_entry) {
    const std::uint64_t writable = (vcpu.cr0 & cr0_wp) == 0 ? page_writable : guest_entry & page_writable;
    return (backend::table_machine_frame(child) << page_shift) | page_present | page_user | page_accessed |
           page_dirty | writable | (guest_entry & page_no_execute);
}

void drop(TableNumber table);

void unlink(std::uint64_t entry) {
    const TableNumber child = backend::table_at((entry & frame_mask) >> page_shift);
    if (child != no_table && --tables[child].parents == 0) {
        drop(child);
    }
}

void drop(TableNumber table) {
    const Table& what = tables[table];
    if (what.level > 1) {
        const std::uint64_t* const entries = backend::table_entries(table);
        for (unsigned i = 0; i < entries_per_table; ++i) {
            if ((entries[i] & page_present) != 0) {
                unlink(entries[i]);
            }
        }
    }
    if (what.large_entry == 0) {
        unchain(table);
    }
    backend::retire_table(table);
    bury(table);
}

std::uint64_t entry_for(TableNumber table, unsigned index, std::uint64_t guest_entry, View child_view);

void fill(TableNumber table) {
    const Table& what = tables[table];
    std::uint64_t* const entries = backend::table_entries(table);
    if (what.large_entry != 0) {
        for (unsigned i = 0; i < entries_per_table; ++i) {
            entries[i] = leaf_entry(what.view, what.large_entry, what.guest_frame + i);
        }
        return;
    }
    const std::uint64_t* const from = guest_table(what.guest_frame);
    for (unsigned i = 0; i < entries_per_table; ++i) {
        if ((from[i] & page_present) != 0) {
            entries[i] = entry_for(table, i, from[i], what.view);
        }
    }
    if (what.holds_vmm && entries[entries_per_table - 1] == 0) {
        entries[entries_per_table - 1] = backend::vmm_entry(what.level);
    }
}

TableNumber make(unsigned level, std::uint64_t guest_frame, std::uint64_t large_entry, View view,
                 bool holds_vmm) {
    const TableNumber table = allocate();
    if (table == no_table) {
        return no_table;
    }
    Table& what = tables[table];
    what.guest_frame = guest_frame;
    what.large_entry = large_entry;
    what.level = static_cast<std::uint8_t>(level);
    what.view = view;
    what.holds_vmm = holds_vmm;
    if (large_entry == 0) {
        chain(table);
    }
    fill(table);
    backend::publish_table(table);
    return table;
}

TableNumber find(unsigned level, std::uint64_t guest_frame, View view, bool holds_vmm) {
    for (TableNumber table = table_of_frame[guest_frame]; table != no_table; table = tables[table].next) {
        const Table& what = tables[table];
        if (what.level == level && what.view == view && what.holds_vmm == holds_vmm) {
            return table;
        }
    }
    return no_table;
}

// The entry of `table` that stands for `guest_entry`, its child made if need be. 0: not yet, or not at all.
std::uint64_t entry_for(TableNumber table, unsigned index, std::uint64_t guest_entry, View child_view) {
    const unsigned level = tables[table].level;
    const bool last = tables[table].holds_vmm && index == entries_per_table - 1;
    if (level == 1) {
        return leaf_entry(child_view, guest_entry, frame_of(guest_entry));
    }
    if (last && level == 2) {
        return backend::vmm_entry(level); // the last 2 MiB are the VMM's
    }
    const std::uint64_t absent = last ? backend::vmm_entry(level) : 0;
    if ((guest_entry & (page_present | page_accessed)) == page_present) {
        kernel_pages_are_lazy = true;
    }
    if ((guest_entry & page_present) == 0 || (guest_entry & page_accessed) == 0 ||
        (child_view == View::user && (guest_entry & page_user) == 0)) {
        return absent;
    }
    const std::uint64_t frame = frame_of(guest_entry);
    if ((guest_entry & page_large) != 0) {
        if (level != 2 || frame >= guest_frames) {
            return absent; // reserved, or no RAM
        }
        const TableNumber child =
            make(1, frame & ~std::uint64_t{entries_per_table - 1}, guest_entry, child_view, false);
        if (child == no_table) {
            return absent;
        }
        tables[child].parents = 1;
        return link_entry(child, page_writable | (guest_entry & page_no_execute));
    }
    if (frame >= guest_frames) {
        return absent;
    }
    const bool holds_vmm = last;
    TableNumber child = find(level - 1, frame, child_view, holds_vmm);
    if (child == no_table) {
        child = make(level - 1, frame, 0, child_view, holds_vmm);
    }
    if (child == no_table) {
        return absent;
    }
    ++tables[child].parents;
    return link_entry(child, guest_entry);
}

bool is_made_of(std::uint64_t shadow, std::uint64_t guest) {
    const TableNumber child =
        (shadow & page_present) != 0 ? backend::table_at((shadow & frame_mask) >> page_shift) : no_table;
    return child != no_table && tables[child].large_entry == guest;
}

void change_entry(TableNumber table, unsigned index, std::uint64_t guest_entry, View child_view) {
    const std::uint64_t old = backend::table_entries(table)[index];
    if ((guest_entry & page_large) != 0 && tables[table].level == 2 && is_made_of(old, guest_entry)) {
        return;
    }
    const std::uint64_t entry = entry_for(table, index, guest_entry, child_view);
    if (entry != old) {
        removals += (old & page_present) != 0 ? 1 : 0;
        ++counters.entries_written;
        backend::write_entry(table, index, entry);
    }
    // Where the entry stays, its child has been counted twice.
    if (tables[table].level > 1 && (old & page_present) != 0) {
        unlink(old);
    }
}

// ---- roots

bool is_split(const Table& root, unsigned index) {
    return ((root.split[index / 64] >> (index % 64)) & 1U) != 0;
}

void split(Table& root, unsigned index) {
    root.split[index / 64] |= std::uint64_t{1} << (index % 64);
}

View view_below(const Table& root, unsigned index) {
    return index < lower_half && !is_split(root, index) ? View::user : View::kernel;
}

bool is_the_vmms(unsigned index) {
    return index == backend::map_slot() || backend::slot_is_reserved(index);
}

void change_root_slot(TableNumber root, unsigned index, std::uint64_t guest_entry) {
    if (is_the_vmms(index)) {
        return;
    }
    Table& what = tables[root];
    backend::table_entries(what.mirror)[index] = guest_entry;
    if (index < lower_half && (guest_entry & (page_present | page_user)) == page_present) {
        split(what, index); // user mode sees nothing of it
    }
    change_entry(root, index, guest_entry, view_below(what, index));
    change_entry(what.user_root, index, guest_entry, View::user);
}

TableNumber make_root(std::uint64_t guest_frame) {
    const TableNumber root = allocate();
    const TableNumber user = allocate();
    const TableNumber mirror = allocate();
    if (mirror == no_table) {
        stop_guest("no memory is left for page tables");
    }
    for (const TableNumber table : {root, user}) {
        Table& what = tables[table];
        what.guest_frame = guest_frame;
        what.level = root_level;
        what.view = table == root ? View::kernel : View::user;
    }
    tables[root].holds_vmm = true;
    tables[root].user_root = user;
    tables[root].mirror = mirror;
    chain(root);
    backend::table_entries(root)[backend::map_slot()] = backend::map_entry();
    backend::table_entries(root)[entries_per_table - 1] = backend::vmm_entry(root_level);
    backend::publish_table(root);
    backend::publish_table(user);
    backend::pin_root(root, user);
    return root;
}

void drop_root(TableNumber root) {
    const Table what = tables[root];
    unchain(root);
    tables[root].level = 0;
    backend::unpin_root(root, what.user_root);
    for (const TableNumber table : {root, what.user_root}) {
        const std::uint64_t* const entries = backend::table_entries(table);
        for (unsigned i = 0; i < entries_per_table; ++i) {
            if ((entries[i] & page_present) != 0 && !is_the_vmms(i)) {
                unlink(entries[i]);
            }
        }
        backend::retire_table(table);
        bury(table);
    }
    bury(what.mirror);
}

// Stores to a root that is not in use, and to one as a whole, are not annotated.
void follow_root(TableNumber root) {
    const std::uint64_t* const now = guest_table(tables[root].guest_frame);
    const std::uint64_t* const before = backend::table_entries(tables[root].mirror);
    for (unsigned i = 0; i < entries_per_table; ++i) {
        if (now[i] != before[i]) {
            change_root_slot(root, i, now[i]);
        }
    }
}

// All but what is in use. What the kernel's half holds is shared by the roots and stays.
void drop_other_roots() {
    for (TableNumber table = 0; table < backend::table_count(); ++table) {
        const Table& what = tables[table];
        if (what.level == root_level && what.view == View::kernel && table != current_root) {
            drop_root(table);
        }
    }
    free_dying();
}

void make_room() {
    if (free_tables >= least_free) {
        return;
    }
    free_dying();
    if (free_tables < least_free) {
        drop_other_roots();
    }
}

} // namespace

std::uint64_t shadow_memory_bytes(std::uint64_t frames, std::uint32_t table_count) {
    return (frames * sizeof(TableNumber)) + (std::uint64_t{table_count} * sizeof(Table)) + alignof(Table);
}

void start_shadow_tables(ShadowMemory memory) {
    guest_frames = backend::guest_ram_bytes() >> page_shift;
    tables = reinterpret_cast<Table*>(memory.bytes);
    table_of_frame = reinterpret_cast<TableNumber*>(tables + backend::table_count());
    for (std::uint64_t frame = 0; frame < guest_frames; ++frame) {
        table_of_frame[frame] = no_table;
    }
    free_list = no_table;
    for (TableNumber table = backend::table_count(); table > 0; --table) {
        tables[table - 1] = {};
        tables[table - 1].next = free_list;
        free_list = table - 1;
    }
    free_tables = backend::table_count();
}

void load_shadow_root() {
    make_room();
    const std::uint64_t frame = frame_of(vcpu.cr3);
    if (frame >= guest_frames) {
        stop_guest("CR3 points outside RAM:", vcpu.cr3);
    }
    TableNumber root = find(root_level, frame, View::kernel, true);
    if (root == no_table) {
        root = make_root(frame);
    }
    follow_root(root);
    if (root == current_root) {
        backend::invalidate_all();
    } else {
        current_root = root;
        backend::load_root(root, tables[root].user_root);
    }
    record_event(Event::root, vcpu.cr3, root);
    free_dying();
}

void shadow_entry_written(std::uint64_t guest_physical, std::uint64_t entry, unsigned level) {
    const std::uint64_t frame = guest_physical >> page_shift;
    if (frame >= guest_frames || table_of_frame[frame] == no_table) {
        return;
    }
    make_room();
    const auto index =
        static_cast<unsigned>(guest_physical / sizeof(std::uint64_t)) & (entries_per_table - 1);
    TableNumber next = no_table;
    for (TableNumber table = table_of_frame[frame]; table != no_table; table = next) {
        next = tables[table].next;
        if (tables[table].level != root_level) {
            change_entry(table, index, entry, tables[table].view);
        } else if (level >= root_level) {
            change_root_slot(table, index, entry);
        } else if (table != current_root) {
            drop_root(table); // it was freed, which no annotation says, and is another table now
        }
    }
}

namespace {

TableNumber child_of(TableNumber table, unsigned index) {
    const std::uint64_t entry = backend::table_entries(table)[index];
    return (entry & page_present) != 0 ? backend::table_at((entry & frame_mask) >> page_shift) : no_table;
}

// Brings the shadow's entries on the way to `address` in step with the guest's. False: no table could be
// made.
bool follow_path(std::uint64_t address, const PageWalk& walk, bool from_user) {
    const unsigned slot = table_index(address, root_level);
    const Table& root = tables[current_root];
    change_root_slot(current_root, slot, walk.entry[root_level]);
    TableNumber table = from_user ? root.user_root : current_root;
    unsigned index = slot;
    for (unsigned level = root_level - 1; level >= 1; --level) {
        table = child_of(table, index);
        if (table == no_table || table >= backend::table_count()) {
            return false;
        }
        if (level < walk.leaf_level) {
            return true; // the table of a large page was filled when it was linked
        }
        index = table_index(address, level);
        change_entry(table, index, walk.entry[level], tables[table].view);
    }
    return true;
}

} // namespace

void shadow_invalidate(std::uint64_t address) {
    const unsigned slot = table_index(address, root_level);
    if (is_canonical(address) && !is_the_vmms(slot)) {
        const PageWalk walk = walk_page(address, {});
        TableNumber table = current_root;
        unsigned index = slot;
        for (unsigned level = root_level; level >= walk.leaf_level; --level) {
            if (level == root_level) {
                change_root_slot(current_root, index, walk.entry[level]);
            } else {
                change_entry(table, index, walk.entry[level], tables[table].view);
            }
            table = child_of(table, index);
            if (level == 1 || table == no_table || table >= backend::table_count()) {
                break;
            }
            index = table_index(address, level - 1);
        }
    }
    backend::invalidate_page(address);
    free_dying();
}

bool shadow_add_alias(std::uint64_t address) {
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
            // The tables above the VMM hold it in their last entry: a whole one serves only an address like
            // that.
            if (level > 2 && table_index(address, 2) != entries_per_table - 1) {
                return false;
            }
            backend::write_entry(table, index, backend::vmm_entry(level));
            backend::flush_entries();
            return true;
        }
        table = child_of(table, index);
    }
    return false;
}

void shadow_rebuild() {
    if (current_root == no_table) {
        return;
    }
    drop_other_roots();
    Table& root = tables[current_root];
    for (unsigned i = 0; i < entries_per_table; ++i) {
        if (!is_the_vmms(i)) {
            change_root_slot(current_root, i, 0);
        }
    }
    std::memset(root.split, 0, sizeof(root.split));
    free_dying();
    follow_root(current_root);
    backend::invalidate_all();
}

void shadow_prepare_stack(std::uint64_t stack) {
    static std::uint64_t last_page = ~std::uint64_t{0};
    static std::uint64_t last_removals;
    static TableNumber last_root = no_table;
    if (!kernel_pages_are_lazy) {
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
        if (walk.faults || walk.physical >> page_shift >= guest_frames ||
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
    if (walk.faults) {
        return {FaultVerdict::guest, walk.error_code};
    }
    const unsigned slot = table_index(address, root_level);
    if (is_the_vmms(slot)) {
        stop_guest("the guest uses an address that is not its own:", address);
    }
    if (walk.physical >> page_shift >= guest_frames) {
        stop_guest("an access outside RAM that no device claims, at", walk.physical);
    }
    make_room();
    mark_accessed(walk, access.write);
    Table& root = tables[current_root];
    const bool is_kernels_alone = !walk.user || (access.write && !access.user && (vcpu.cr0 & cr0_wp) == 0);
    if (slot < lower_half && is_kernels_alone) {
        split(root, slot);
    }
    if (!follow_path(address, walk, access.user)) {
        drop_other_roots();
        if (!follow_path(address, walk, access.user)) {
            stop_guest("no memory is left for page tables");
        }
    }
    backend::flush_entries();
    free_dying();
    return {FaultVerdict::hidden, 0};
}

} // namespace previrt
