// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/processor_roots.hpp"

#include "backends/xen/domain.hpp"
#include "backends/xen/layout.hpp"
#include "backends/xen/processors.hpp"
#include "backends/xen/table_updates.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace previrt::xen {

namespace {

using backend::TableNumber;

constexpr unsigned last = xen::table_entries - 1;
constexpr TableNumber no_table = ~TableNumber{0};
// Xen, or the processor, may have set these.
constexpr std::uint64_t not_compared = page_accessed | page_dirty | entry_user;

struct KeptRoot {
    TableNumber root = no_table; // or none
    // The tables of levels 3 and 2 in its last entry. no_table: the guest has none there.
    TableNumber level3 = no_table;
    TableNumber level2 = no_table;
    std::uint64_t last_used = 0;
};
[[gnu::section("processor")]] constinit KeptRoot kept[kept_roots];
[[gnu::section("processor")]] std::uint64_t uses;

std::span<std::uint8_t> copied; // for each table: 1 if there may be a copy

// Neither the guest's nor the same for all roots.
bool is_kept_entry(unsigned level, unsigned index) {
    return index == last ||
           (level == root_level && (index == backend::map_slot() || backend::slot_is_reserved(index)));
}

// The copies of a processor's kept root.
class Copies {
public:
    Copies(unsigned processor, unsigned number) : processor_(processor), number_(number) {}

    [[nodiscard]] KeptRoot& kept_root() const { return of_processor(processor_, kept)[number_]; }
    [[nodiscard]] std::uint64_t page(unsigned level) const { return kept_page(processor_, number_, level); }

    // The queue of updates is empty.
    void fill() const {
        copy_table(root_level, kept_root().root);
        fill_level3();
    }
    void change(TableNumber table, unsigned index, std::uint64_t entry) const {
        const KeptRoot& root = kept_root();
        if (table == root.root) {
            if (index == last) {
                flush_updates();
                fill_level3();
            } else {
                set_entry(4, index, entry);
            }
        } else if (table == root.level3) {
            if (index == last) {
                flush_updates();
                fill_level2();
            } else {
                set_entry(3, index, entry);
            }
        } else if (table == root.level2 && index != last) {
            set_entry(2, index, entry);
        }
    }
    void empty() const {
        for (unsigned level = root_level; level >= 2; --level) {
            copy_table(level, no_table);
        }
        kept_root() = {};
    }

private:
    void set_entry(unsigned level, unsigned index, std::uint64_t entry) const {
        queue_update(machine_address(page(level)) + entry_offset(index), entry);
    }
    // no_table: one without entries.
    void copy_table(unsigned level, TableNumber table) const {
        const auto* const now = reinterpret_cast<const std::uint64_t*>(page_pointer(page(level)));
        const std::uint64_t* const wanted = table == no_table ? nullptr : backend::table_entries(table);
        for (unsigned i = 0; i < last; ++i) {
            const std::uint64_t entry = wanted == nullptr ? 0 : wanted[i];
            if (((now[i] ^ entry) & ~not_compared) != 0 && !is_kept_entry(level, i)) {
                set_entry(level, i, entry);
            }
        }
        if (table != no_table) {
            copied[table] = 1;
        }
    }
    void fill_level3() const {
        kept_root().level3 = table_in_last(kept_root().root);
        copy_table(3, kept_root().level3);
        fill_level2();
    }
    void fill_level2() const {
        kept_root().level2 = kept_root().level3 == no_table ? no_table : table_in_last(kept_root().level3);
        copy_table(2, kept_root().level2);
    }
    // no_table: it is the VMM's.
    [[nodiscard]] static TableNumber table_in_last(TableNumber table) {
        return backend::table_at(machine_frame_in(backend::table_entries(table)[last]));
    }

    unsigned processor_;
    unsigned number_;
};

template <typename Action>
void for_each_kept(const Action& action) {
    for (unsigned processor = 1; processor < backend::processor_count(); ++processor) {
        for (unsigned i = 0; i < kept_roots; ++i) {
            const Copies copies(processor, i);
            if (copies.kept_root().root != no_table) {
                action(copies);
            }
        }
    }
}

std::uint64_t* entries_of(std::uint64_t page) {
    return reinterpret_cast<std::uint64_t*>(page_pointer(page));
}

} // namespace

void start_processor_roots() {
    copied = {take_memory(backend::table_count()), backend::table_count()};
}

void build_processor_roots(unsigned processor) {
    for (unsigned root = 0; root < kept_roots; ++root) {
        const Copies copies(processor, root);
        const std::uint64_t below[] = {level1_page(processor), copies.page(2), copies.page(3)};
        for (unsigned level = 2; level <= root_level; ++level) {
            entries_of(copies.page(level))[last] = machine_address(below[level - 2]) | table_flags;
        }
        entries_of(copies.page(root_level))[backend::map_slot()] = backend::map_entry();
        for (unsigned level = 2; level <= root_level; ++level) {
            make_page_read_only(copies.page(level));
        }
        queue_pin(machine_frame_of(copies.page(root_level)));
    }
}

std::uint64_t own_root(TableNumber root) {
    if (vcpu.number == 0) {
        return backend::table_machine_frame(root);
    }
    KeptRoot* place = std::ranges::find(kept, root, &KeptRoot::root);
    const bool is_new = place == std::end(kept);
    if (is_new) {
        place = std::ranges::min_element(kept, {}, &KeptRoot::last_used);
        *place = {.root = root};
    }
    const Copies copies(vcpu.number, static_cast<unsigned>(place - kept));
    place->last_used = ++uses;
    if (is_new) {
        flush_updates();
        copies.fill();
    }
    return machine_frame_of(copies.page(root_level));
}

bool is_copied(TableNumber table) {
    return backend::processor_count() != 1 && copied[table] != 0;
}

void change_copies(TableNumber table, unsigned index, std::uint64_t entry) {
    for_each_kept([&](const Copies& copies) { copies.change(table, index, entry); });
}

void empty_copies(TableNumber root) {
    if (!is_copied(root)) {
        return;
    }
    flush_updates();
    for_each_kept([&](const Copies& copies) {
        if (copies.kept_root().root == root) {
            copies.empty();
        }
    });
}

void forget_copies(TableNumber table) {
    if (is_copied(table)) {
        copied[table] = 0;
    }
}

} // namespace previrt::xen
