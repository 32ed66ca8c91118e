// SPDX-License-Identifier: BSD-2-Clause
#include "backends/kvm/deprivileged/processor_roots.hpp"

#include "backends/kvm/deprivileged/contract/processor_memory.hpp"
#include "backends/kvm/deprivileged/domain.hpp"
#include "backends/kvm/deprivileged/processors.hpp"
#include "backends/kvm/deprivileged/stale_entries.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace previrt::kvm {

namespace {

using backend::TableNumber;

constexpr unsigned last = table_entries - 1;

struct KeptRoot {
    TableNumber root = no_table; // or none
    // The tables of levels 3 and 2 in its last entry. no_table: the guest has none there.
    TableNumber level3 = no_table;
    TableNumber level2 = no_table;
    std::uint64_t last_used = 0;
    bool is_user = false;
};
[[gnu::section("processor")]] constinit KeptRoot kept[kept_roots];
[[gnu::section("processor")]] std::uint64_t uses;

std::span<std::uint8_t> copied; // for each table: 1 if there may be a copy

std::uint64_t* entries_at(unsigned processor, std::uint64_t offset) {
    return reinterpret_cast<std::uint64_t*>(memory_of(processor) + offset);
}

// The processor may be walking the table.
void set_entry(std::uint64_t& place, std::uint64_t entry) {
    __atomic_store_n(&place, entry, __ATOMIC_RELAXED);
}

// All but the last: with it the processor, which may be walking `to`, would see another one's pages. A store
// to a table in use takes KVM microseconds.
void copy_entries(std::uint64_t* to, const std::uint64_t* from) {
    for (unsigned i = 0; i < last; ++i) {
        if (((to[i] ^ from[i]) & ~std::uint64_t{page_accessed}) != 0) {
            set_entry(to[i], from[i]);
        }
    }
}

// The copies of a processor's kept root.
class Copies {
public:
    Copies(unsigned processor, unsigned number) : processor_(processor), number_(number) {}

    [[nodiscard]] std::uint64_t* entries(unsigned level) const {
        return entries_at(processor_, memory().kept(number_) + ((root_level - level) * page_size));
    }
    [[nodiscard]] KeptRoot& kept_root() const { return of_processor(processor_, kept)[number_]; }

    void fill() const {
        copy_entries(entries(4), backend::table_entries(kept_root().root));
        copied[kept_root().root] = 1;
        fill_level3();
    }
    void change(TableNumber table, unsigned index, std::uint64_t entry) const {
        const KeptRoot& root = kept_root();
        if (table == root.root) {
            if (index == last) {
                fill_level3();
            } else {
                set_entry(entries(4)[index], entry);
            }
        } else if (table == root.level3) {
            if (index == last) {
                fill_level2();
            } else {
                set_entry(entries(3)[index], entry);
            }
        } else if (table == root.level2 && index != last) {
            set_entry(entries(2)[index], entry);
        }
    }

private:
    [[nodiscard]] static ProcessorMemory memory() { return {.own_bytes = own_bytes()}; }

    // What an entry of the boot processor's names where the guest has no table.
    [[nodiscard]] std::uint64_t* vmm_table(unsigned level) const {
        const std::uint64_t entry = backend::vmm_entry(level + 1, kept_root().is_user);
        return reinterpret_cast<std::uint64_t*>(pointer_to(machine_frame_in(entry) << page_shift));
    }
    [[nodiscard]] std::uint64_t own_level1() const {
        return kept_root().is_user ? memory().user_tables() : memory().level1();
    }
    void fill_level3() const {
        const std::uint64_t entry = backend::table_entries(kept_root().root)[last];
        kept_root().level3 = copy_table(3, entry);
        fill_level2();
        link(4, entry, physical_of(entries(3)));
    }
    void fill_level2() const {
        const TableNumber level3 = kept_root().level3;
        const std::uint64_t entry =
            level3 == no_table ? vmm_table(3)[last] : backend::table_entries(level3)[last];
        kept_root().level2 = copy_table(2, entry);
        link(2, vmm_table(2)[last], physical_of(entries_at(processor_, own_level1())));
        link(3, entry, physical_of(entries(2)));
    }
    // The table that this entry names is a guest's, or the VMM's.
    [[nodiscard]] TableNumber copy_table(unsigned level, std::uint64_t entry) const {
        const TableNumber table = backend::table_at(machine_frame_in(entry));
        copy_entries(entries(level), table == no_table ? vmm_table(level) : backend::table_entries(table));
        if (table != no_table) {
            copied[table] = 1;
        }
        return table;
    }
    void link(unsigned level, std::uint64_t entry, std::uint64_t physical) const {
        set_entry(entries(level)[last], (entry ^ (machine_frame_in(entry) << page_shift)) | physical);
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

} // namespace

void start_processor_roots() {
    copied = {part_of_vmm(handover.copied_tables), handover.copied_tables.bytes};
}

std::uint64_t own_root(TableNumber root, bool user) {
    if (vcpu.number == 0) {
        return backend::table_machine_frame(root) << page_shift;
    }
    KeptRoot* place = std::ranges::find(kept, root, &KeptRoot::root);
    const bool is_new = place == std::end(kept);
    if (is_new) {
        place = std::ranges::min_element(kept, {}, &KeptRoot::last_used);
        *place = {.root = root, .is_user = user};
    }
    const Copies copies(vcpu.number, static_cast<unsigned>(place - kept));
    place->last_used = ++uses;
    if (is_new) {
        copies.fill();
    }
    return physical_of(copies.entries(root_level));
}

bool is_copied(TableNumber table) {
    return backend::processor_count() != 1 && copied[table] != 0;
}

void change_copies(TableNumber table, unsigned index, std::uint64_t entry) {
    for_each_kept([&](const Copies& copies) { copies.change(table, index, entry); });
}

void forget_copies(TableNumber table) {
    if (!is_copied(table)) {
        return;
    }
    copied[table] = 0;
    for_each_kept([&](const Copies& copies) {
        if (copies.kept_root().root == table) {
            copies.kept_root() = {};
        }
    });
}

} // namespace previrt::kvm
