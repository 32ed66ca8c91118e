// SPDX-License-Identifier: BSD-2-Clause
// The hypervisor's part of the fake back-end: page tables, their rules, the TLB.
#include "tests/unit/vmm/fake_tables.hpp"
#include "tests/unit/vmm/fake_backend.hpp"

#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/backend/kernel_placement.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/backend/processors.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace previrt::fake {

namespace {

using backend::TableNumber;
using Entries = std::array<std::uint64_t, entries_per_table>;

// Beyond 1 TiB, which a guest is not told of, and not in the guest's order.
constexpr std::uint64_t ram_at = std::uint64_t{1} << 33U;
constexpr std::uint64_t pool_at = std::uint64_t{1} << 34U;
constexpr std::uint64_t vmm_at = std::uint64_t{1} << 35U;
constexpr std::uint64_t copies_at = std::uint64_t{1} << 36U;

struct PoolTable {
    alignas(4096) Entries copy;
    Entries issued; // with every update that was queued
    Entries seen;   // with those that the hypervisor has executed
    bool published = false;
    bool retired = false; // since the last flush
    unsigned pins = 0;
    unsigned level = 0;                      // 0: not known yet
    std::map<TableNumber, unsigned> parents; // published tables that name it, and how often
};

struct Update {
    TableNumber table;
    unsigned index;
    std::uint64_t entry;
};

struct Cached {
    std::uint64_t frame;
    bool writable;
    bool executable;
};

std::vector<std::uint8_t> ram;
std::vector<PoolTable> pool;
std::vector<Update> queue;
std::vector<TableNumber> retired; // since the last flush
bool flush_is_queued;
TableNumber loaded[2]; // kernel, user
std::map<std::pair<bool, std::uint64_t>, Cached> cached;

bool is_present(std::uint64_t entry) {
    return (entry & page_present) != 0;
}

TableNumber table_of(std::uint64_t entry) {
    return is_present(entry) ? backend::table_at(machine_frame_in(entry)) : ~TableNumber{0};
}

bool is_in_use(const PoolTable& table, unsigned level) {
    return table.published && table.level == level;
}

PoolTable& published_table(TableNumber table, const char* what) {
    if (table >= pool.size() || !pool[table].published) {
        throw Misuse(std::string(what) + ": table " + std::to_string(table) + " is not published");
    }
    return pool[table];
}

bool is_copy(std::uint64_t frame) {
    return frame >= copies_at && frame - copies_at < ram.size() / page_bytes;
}

void check_leaf(std::uint64_t entry) {
    const std::uint64_t frame = machine_frame_in(entry);
    if (is_copy(frame)) {
        if ((entry & page_writable) != 0) {
            throw Misuse("a copy is writable");
        }
        return;
    }
    if (backend::guest_frame_of(frame) >= ram.size() / page_bytes && (frame < vmm_at || frame > vmm_at + 8)) {
        throw Misuse("a leaf names a frame that is not the guest's");
    }
}

void check_entry(unsigned level, std::uint64_t entry);

void set_level(TableNumber number, unsigned level) {
    PoolTable& table = pool[number];
    if (table.level == level) {
        return;
    }
    if (table.level != 0) {
        throw Misuse("a table is used at two levels");
    }
    table.level = level;
    for (const std::uint64_t entry : table.issued) {
        check_entry(level, entry);
    }
}

void check_entry(unsigned level, std::uint64_t entry) {
    if (!is_present(entry) || level == 0) {
        return;
    }
    const TableNumber child = table_of(entry);
    if (level == 1) {
        if (child != ~TableNumber{0}) {
            throw Misuse("the guest is given a page table as memory");
        }
        check_leaf(entry);
    } else if (child != ~TableNumber{0}) {
        set_level(child, level - 1);
    } else if (machine_frame_in(entry) < vmm_at) {
        throw Misuse("an entry above level 1 names no table");
    }
}

void name_child(TableNumber parent, std::uint64_t entry) {
    const TableNumber child = table_of(entry);
    if (child != ~TableNumber{0}) {
        ++published_table(child, "an entry names a table").parents[parent];
    }
    check_entry(pool[parent].level, entry);
}

void forget_child(TableNumber parent, std::uint64_t entry) {
    const TableNumber child = table_of(entry);
    if (child != ~TableNumber{0}) {
        auto& parents = pool[child].parents;
        const auto found = parents.find(parent);
        if (found != parents.end() && --found->second == 0) {
            parents.erase(found);
        }
    }
}

bool is_reachable(TableNumber table) {
    return pool[table].pins != 0 || std::ranges::any_of(pool[table].parents, [](const auto& parent) {
               return is_reachable(parent.first);
           });
}

// Permissions of a walk.
std::optional<Cached> walk(std::uint64_t address, bool user) {
    TableNumber table = loaded[user ? 1 : 0];
    Cached found{.frame = 0, .writable = true, .executable = true};
    for (unsigned level = root_level; level >= 1; --level) {
        const PoolTable& here = pool.at(table);
        if (!here.published && !here.retired) {
            throw Misuse("the processor walks a table that was given back");
        }
        const std::uint64_t entry = here.seen[table_index(address, level)];
        if (!is_present(entry)) {
            return {};
        }
        found.writable = found.writable && (entry & page_writable) != 0;
        found.executable = found.executable && (entry & page_no_execute) == 0;
        found.frame = machine_frame_in(entry);
        if (level > 1) {
            table = backend::table_at(found.frame);
            if (table == ~TableNumber{0}) {
                return {}; // the VMM's own tables: they map it alone
            }
        }
    }
    return found;
}

Translated judge(const Cached& found, std::uint64_t address, Access how) {
    if ((how.write && !found.writable) || (how.fetch && !found.executable)) {
        return {Translation::faulted, 0};
    }
    const std::uint64_t frame =
        is_copy(found.frame) ? found.frame - copies_at : backend::guest_frame_of(found.frame);
    return {Translation::done, (frame << page_shift) | (address & (page_bytes - 1))};
}

} // namespace

void start_tables(std::uint64_t ram_bytes, std::uint32_t count) {
    ram.assign(ram_bytes, 0);
    pool.assign(count, {});
    queue.clear();
    retired.clear();
    cached.clear();
    flush_is_queued = false;
    loaded[0] = loaded[1] = ~TableNumber{0};
}

Translated access(std::uint64_t address, Access how) {
    const std::pair key(how.user, address >> page_shift);
    auto place = cached.find(key);
    if (place == cached.end()) {
        const auto found = walk(address, how.user);
        if (!found) {
            return {Translation::faulted, 0};
        }
        place = cached.emplace(key, *found).first;
    }
    const Translated result = judge(place->second, address, how);
    if (result.result == Translation::faulted) {
        cached.erase(place); // as a fault does
    }
    return result;
}

Translated look(std::uint64_t address, Access how) {
    const auto found = walk(address, how.user);
    return found ? judge(*found, address, how) : Translated{Translation::faulted, 0};
}

void check_tables() {
    for (const PoolTable& table : pool) {
        if (table.published && table.copy != table.issued) {
            throw Misuse("a published table was changed behind the hypervisor's back");
        }
    }
}

std::vector<std::uint64_t> writable_frames() {
    std::vector<std::uint64_t> frames;
    for (const PoolTable& table : pool) {
        if (!is_in_use(table, 1)) {
            continue;
        }
        for (const std::uint64_t entry : table.issued) {
            if (is_present(entry) && (entry & page_writable) != 0) {
                frames.push_back(backend::guest_frame_of(machine_frame_in(entry)));
            }
        }
    }
    return frames;
}

std::uint64_t copy_of(std::uint64_t guest_frame) {
    return copies_at + guest_frame;
}

std::vector<std::pair<TableNumber, unsigned>> leaves_of_copies() {
    std::vector<std::pair<TableNumber, unsigned>> leaves;
    for (TableNumber table = 0; table < pool.size(); ++table) {
        if (!is_in_use(pool[table], 1)) {
            continue;
        }
        for (unsigned i = 0; i < entries_per_table; ++i) {
            const std::uint64_t entry = pool[table].issued[i];
            if (is_present(entry) && is_copy(machine_frame_in(entry))) {
                leaves.emplace_back(table, i);
            }
        }
    }
    return leaves;
}

std::uint32_t published_count() {
    return static_cast<std::uint32_t>(std::ranges::count(pool, true, &PoolTable::published));
}

} // namespace previrt::fake

namespace previrt::backend {

using namespace fake;

std::uint8_t* guest_ram() {
    return ram.data();
}
void prepare_write(std::uint64_t /*guest_frame*/) {}
std::uint64_t guest_ram_bytes() {
    return ram.size();
}
std::uint64_t machine_frame(std::uint64_t guest_frame) {
    return ram_at + (guest_frame * 3);
}
std::uint64_t guest_frame_of(std::uint64_t frame) {
    const std::uint64_t offset = frame - ram_at;
    return frame >= ram_at && offset % 3 == 0 && offset / 3 < ram.size() / page_bytes ? offset / 3
                                                                                      : ~std::uint64_t{0};
}
std::uint32_t table_count() {
    return static_cast<std::uint32_t>(pool.size());
}
std::uint64_t table_machine_frame(TableNumber table) {
    return pool_at + (std::uint64_t{table} * 2);
}
std::uint64_t* table_entries(TableNumber table) {
    return pool.at(table).copy.data();
}
TableNumber table_at(std::uint64_t frame) {
    const std::uint64_t offset = frame - pool_at;
    return frame >= pool_at && offset % 2 == 0 && offset / 2 < pool.size()
               ? static_cast<TableNumber>(offset / 2)
               : ~TableNumber{0};
}

void publish_table(TableNumber table) {
    PoolTable& what = pool.at(table);
    if (what.published || what.retired || !what.parents.empty()) {
        throw Misuse("a table is published that the hypervisor still holds");
    }
    what.published = true;
    what.issued = what.seen = what.copy;
    for (const std::uint64_t entry : what.copy) {
        name_child(table, entry);
    }
}

void retire_table(TableNumber table) {
    PoolTable& what = published_table(table, "retire_table");
    if (is_reachable(table)) {
        throw Misuse("a table is retired that a root leads to");
    }
    what.published = false;
    what.retired = true;
    retired.push_back(table);
    for (const std::uint64_t entry : what.issued) {
        forget_child(table, entry);
    }
}

void write_entry(TableNumber table, unsigned index, std::uint64_t entry) {
    PoolTable& what = published_table(table, "write_entry");
    const std::uint64_t old = what.issued.at(index);
    name_child(table, entry);
    forget_child(table, old);
    what.copy[index] = what.issued[index] = entry;
    queue.push_back({.table = table, .index = index, .entry = entry});
}

void flush_entries() {
    for (const Update& update : queue) {
        pool[update.table].seen[update.index] = update.entry;
    }
    queue.clear();
    if (flush_is_queued) {
        flush_is_queued = false;
        cached.clear();
    }
}

bool sets_accessed_bits() {
    return false;
}

void forget_retired_tables() {
    flush_entries();
    for (const TableNumber table : retired) {
        if (is_reachable(table)) {
            throw Misuse("a retired table is still reached from a root");
        }
        pool[table].retired = false;
        pool[table].level = 0;
    }
    retired.clear();
}

bool separates_user_mode() {
    return true;
}
void pin_root(TableNumber kernel, TableNumber user) {
    flush_entries();
    for (const TableNumber root : {kernel, user}) {
        ++published_table(root, "pin_root").pins;
        set_level(root, root_level);
    }
}

void unpin_root(TableNumber kernel, TableNumber user) {
    flush_entries();
    for (const TableNumber root : {kernel, user}) {
        if (published_table(root, "unpin_root").pins == 0 || root == loaded[0] || root == loaded[1]) {
            throw Misuse("unpin_root: the root is not pinned, or in use");
        }
        --pool[root].pins;
    }
}

void load_root(TableNumber kernel, TableNumber user) {
    flush_entries();
    for (const TableNumber root : {kernel, user}) {
        if (published_table(root, "load_root").pins == 0) {
            throw Misuse("load_root: the root is not pinned");
        }
    }
    loaded[0] = kernel;
    loaded[1] = user;
    cached.clear();
}

void invalidate_page(std::uint64_t address) {
    flush_entries();
    cached.erase({false, address >> page_shift});
    cached.erase({true, address >> page_shift});
}
void invalidate_all() {
    flush_entries();
    cached.clear();
}
void queue_invalidate_all() {
    flush_is_queued = true;
}

namespace {
constexpr std::uint64_t vmm_flags = page_present | page_writable | page_user | page_accessed | page_dirty;
} // namespace

std::uint64_t map_entry() {
    return (vmm_at << page_shift) | vmm_flags;
}
unsigned map_slot() {
    return 272;
}
std::uint64_t vmm_entry(unsigned level, bool user) {
    if (user) {
        return 0;
    }
    return ((vmm_at + level) << page_shift) | vmm_flags;
}
std::uint64_t vmm_memory_in_slot(unsigned root_index) {
    return root_index == map_slot() ? 0xffff000000000000 | (std::uint64_t{root_index} << 39U) : 0;
}
bool slot_is_reserved(unsigned root_index) {
    return root_index >= 256 && root_index <= 271;
}
std::optional<AddressRange> map_kernel_image(const KernelImage& /*image*/) {
    return std::nullopt;
}

} // namespace previrt::backend
