// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/page_entry.hpp"
#include "frontends/x86/paging/physical_memory.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cstdint>

// The page-table pool and the state of each guest frame: the book-keeping of all files of the shadow.
namespace previrt::shadow {

using backend::TableNumber;

constexpr TableNumber no_table = ~TableNumber{0};
constexpr unsigned lower_half = entries_per_table / 2;
// Of the entry that leads to the VMM, at every level.
constexpr unsigned vmm_index = table_index(backend::vmm_address, 2);
static_assert(vmm_index == table_index(backend::vmm_address, 3) &&
              vmm_index == table_index(backend::vmm_address, root_level));

// The mode that uses a table. Most of the lower half is open to user mode, so both views of a root share its
// tables there. A supervisor page in a slot splits the slot.
enum class View : std::uint8_t {
    kernel, // every page
    user,   // pages open to user mode
};

// The position of an entry.
struct EntryPlace {
    TableNumber table = no_table;
    std::uint32_t index = 0;

    bool operator==(const EntryPlace&) const = default;
};
using Leaf = EntryPlace; // in a level-1 table

struct Table {
    std::uint64_t guest_frame; // of the guest table; for a large page, of its first page
    std::uint64_t large_entry; // the guest entry of that large page, or 0
    TableNumber next;          // of the same guest frame, or of the free list
    std::uint32_t parents;     // entries that name it; a root has none
    EntryPlace named_by;       // the last entry that was set to name it; it may name another table by now
    TableNumber user_root;     // of a kernel root
    bool in_use;
    std::uint8_t level;
    View view;
    bool holds_vmm; // it is above the VMM, and maps it
    bool is_lower;  // it is in the lower half, and may be filled on demand
    std::uint64_t split[lower_half / 64];
};

struct Frame {
    TableNumber tables;    // the first table that shadows it
    Leaf writer;           // a leaf that maps it writable, or did before the frame was protected
    std::uint32_t writers; // the number of leaves that map it writable
    std::uint32_t let_go;  // the value of complete_invalidations when the last writable leaf went
    bool unsynchronized;   // a shadowed frame that the guest may write: its shadow follows at the next flush
    bool replaced;         // user mode executes a copy of it (replacements.cpp)
};

extern Table* tables;
extern Frame* frames;
extern std::uint64_t frame_count;
extern TableNumber current_root; // this processor's
void set_current_root(TableNumber root);
// Some processor's current root.
[[nodiscard]] bool is_loaded(TableNumber root);
// CR0.WP is clear. Processors share tables, so the boot processor's holds for all.
extern bool boot_processor_writes_anywhere;
inline bool supervisor_writes_anywhere() {
    return vcpu.number == 0 ? (vcpu.cr0 & cr0_wp) == 0 : boot_processor_writes_anywhere;
}
// Some kernel page is not mapped, or not writable, before its first use: see shadow_prepare_stack.
extern bool kernel_pages_are_lazy;
// Counts removed mappings.
extern std::uint64_t removals;
// Counts flushes of all translations in the processor's caches.
extern std::uint32_t complete_invalidations;

// In memory for all tables and frames.
void start_pool(std::uint8_t* memory);

// no_table: the pool is exhausted.
TableNumber allocate_table();
// The table must be unlinked. Its memory is reused after the hypervisor has forgotten it.
void bury_table(TableNumber table);
void free_buried_tables();
std::uint32_t free_table_count();

// While fewer are free, only accesses make tables: hidden faults make the others later.
std::uint32_t tables_kept_for_faults();
// make_room() leaves at least as many.
std::uint32_t least_free_tables();

// The list of tables of a guest frame. The first table protects the frame; after the last, the frame is free
// again.
void chain_table(TableNumber table);
void unchain_table(TableNumber table);
TableNumber find_table(unsigned level, std::uint64_t guest_frame, View view, bool holds_vmm);

// Calls `action` for every table of a frame; it may drop other tables.
template <typename Action>
void for_each_table(std::uint64_t guest_frame, Action action) {
    constexpr unsigned most = 16; // by level, view and holds_vmm
    TableNumber found[most];
    unsigned count = 0;
    for (TableNumber table = frames[guest_frame].tables; table != no_table && count < most;
         table = tables[table].next) {
        found[count++] = table;
    }
    for (unsigned i = 0; i < count; ++i) {
        const Table& what = tables[found[i]];
        if (what.in_use && what.guest_frame == guest_frame && what.large_entry == 0) {
            action(found[i]);
        }
    }
}

const std::uint64_t* guest_table(std::uint64_t guest_frame);

// Calls `action` for the index of every entry of a table that is not 0. Most tables are nearly empty.
template <typename Action>
void for_each_entry(const std::uint64_t* entries, Action action) {
    constexpr unsigned together = 8;
    for (unsigned first = 0; first < entries_per_table; first += together) {
        const std::uint64_t* const at = entries + first;
        if ((at[0] | at[1] | at[2] | at[3] | at[4] | at[5] | at[6] | at[7]) == 0) {
            continue;
        }
        for (unsigned i = first; i < first + together; ++i) {
            if (entries[i] != 0) {
                action(i);
            }
        }
    }
}

inline bool is_ram_frame(std::uint64_t frame) {
    return frame < frame_count && !is_hidden_frame(frame);
}

inline TableNumber table_in(std::uint64_t entry) {
    return (entry & page_present) != 0 ? backend::table_at(machine_frame_in(entry)) : no_table;
}
inline TableNumber child_of(TableNumber table, unsigned index) {
    return table_in(backend::table_entries(table)[index]);
}

inline std::uint64_t real_entry(Leaf leaf) {
    return backend::table_entries(leaf.table)[leaf.index];
}

// Calls `action` for every leaf that maps the frame, until it returns false. Slow: it visits all leaves.
template <typename Action>
void for_each_leaf_of(std::uint64_t machine_frame, Action action) {
    for (TableNumber table = 0; table < backend::table_count(); ++table) {
        if (!tables[table].in_use || tables[table].level != 1) {
            continue;
        }
        for (std::uint32_t index = 0; index < entries_per_table; ++index) {
            const Leaf leaf{.table = table, .index = index};
            const std::uint64_t entry = real_entry(leaf);
            if ((entry & page_present) != 0 && machine_frame_in(entry) == machine_frame && !action(leaf)) {
                return;
            }
        }
    }
}

} // namespace previrt::shadow
