// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/domain.hpp"
#include "backends/xen/layout.hpp"
#include "inplace-vmm/backend.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/package.hpp"
#include "inplace-vmm/print.hpp"
#include "inplace-vmm/stop.hpp"

#include <cstring>

namespace previrt::xen {

Domain domain;

extern "C" std::uint64_t vmm_l1[];
extern "C" std::uint64_t vmm_l2[];

namespace {

using backend::TableNumber;

constexpr std::uint64_t present = 1;
constexpr std::uint64_t writable = 2;
constexpr std::uint64_t user = 4; // Xen adds it anyway: comparing entries must not find it new
constexpr std::uint64_t used = 0x60;
constexpr std::uint64_t no_execute = std::uint64_t{1} << 63U;
constexpr std::uint64_t table_flags = present | writable | user | used;
constexpr std::uint64_t address_mask = 0x000ffffffffff000;

struct PageRange {
    std::uint64_t first;
    std::uint64_t end;

    [[nodiscard]] bool holds(std::uint64_t page) const { return page >= first && page < end; }
};

PageRange free_memory; // not yet given away
PageRange module_pages;
PageRange boot_tables;
PageRange map_tables;
std::uint64_t vmm_l3_page;

PageRange pool;          // what Xen sees of the shadow tables
std::uint64_t* copies;   // what we see
std::uint8_t* published; // by table
PageRange guest_pages;
std::uint64_t guest_bytes;

constexpr std::uint64_t entry_offset(std::uint64_t index) {
    return index * sizeof(std::uint64_t);
}

// ---- updates of page tables, in order

constexpr unsigned most_updates = 128;
mmu_update updates[most_updates];
unsigned update_count;
mmuext_op invalidations[most_updates];
unsigned invalidation_count;
bool flush_is_queued;

void extended_operations(mmuext_op* operations, unsigned count) {
    if (count != 0) {
        must_succeed(__HYPERVISOR_mmuext_op, "mmuext_op", address_of(operations), count, 0, DOMID_SELF);
    }
}

void flush_updates() {
    if (update_count != 0) {
        const unsigned count = update_count;
        update_count = 0;
        unsigned done = 0;
        ++counters.hypercalls[__HYPERVISOR_mmu_update];
        const std::int64_t result =
            hypercall(__HYPERVISOR_mmu_update, address_of(updates), count, address_of(&done), DOMID_SELF);
        if (result != 0) {
            const mmu_update& refused = updates[done < count ? done : count - 1];
            Print() << "previrt-vmm: Xen refused to write " << Hex{refused.val} << " to the page table at "
                    << Hex{refused.ptr} << ", the " << done << ". of " << count << ", with error "
                    << static_cast<std::uint64_t>(-result) << '\n';
            stop_guest("Xen refused a page table");
        }
    }
    unsigned count = invalidation_count;
    invalidation_count = 0;
    if (flush_is_queued) {
        flush_is_queued = false;
        invalidations[0] = {};
        invalidations[0].cmd = MMUEXT_TLB_FLUSH_LOCAL;
        count = 1; // in place of the single ones
    }
    extended_operations(invalidations, count);
}

void queue_update(std::uint64_t machine_address, std::uint64_t value) {
    if (update_count == most_updates) {
        flush_updates();
    }
    updates[update_count++] = {.ptr = machine_address | MMU_NORMAL_PT_UPDATE, .val = value};
}

// ---- the map

std::uint64_t machine_address(std::uint64_t page) {
    return machine_frame_of(page) << page_shift;
}

std::uint64_t map_entry_for(std::uint64_t page, bool may_write) {
    return machine_address(page) | present | user | used | no_execute | (may_write ? writable : 0);
}

// Any page, for a moment, before there is a map.
std::uint64_t* window(std::uint64_t page) {
    queue_update((vmm_l2[table_entries - 1] & address_mask) + entry_offset(window_index),
                 page == ~std::uint64_t{0} ? 0 : machine_address(page) | table_flags);
    flush_updates();
    mmuext_op operation{};
    operation.cmd = MMUEXT_INVLPG_LOCAL;
    operation.arg1.linear_addr = window_address;
    extended_operations(&operation, 1);
    return reinterpret_cast<std::uint64_t*>(window_address);
}

bool is_page_table(std::uint64_t page) {
    const std::uint64_t first = (address_of(vmm_l1) - image_address) >> page_shift;
    return boot_tables.holds(page) || map_tables.holds(page) || page == first || page == first + 1;
}

std::uint64_t tables_for(std::uint64_t entries) {
    return (entries + table_entries - 1) / table_entries;
}

// Level 1 for every page of the domain, level 2 above, and one of level 3; then the spare table of level 3
// that holds the VMM's own level 2.
void build_map() {
    const std::uint64_t level1 = tables_for(domain.pages);
    const std::uint64_t level2 = tables_for(level1);
    map_tables = {free_memory.first, free_memory.first + level1 + level2 + 2};
    if (map_tables.end > free_memory.end || level2 > table_entries) {
        stop_guest("the domain's memory does not hold its own map; pages:", domain.pages);
    }
    free_memory.first = map_tables.end;
    for (std::uint64_t table = 0; table < level1; ++table) {
        std::uint64_t* const entries = window(map_tables.first + table);
        for (unsigned i = 0; i < table_entries; ++i) {
            const std::uint64_t page = (table * table_entries) + i;
            entries[i] = page < domain.pages ? map_entry_for(page, !is_page_table(page)) : 0;
        }
    }
    const std::uint64_t first2 = map_tables.first + level1;
    for (std::uint64_t table = 0; table < level2; ++table) {
        std::uint64_t* const entries = window(first2 + table);
        for (unsigned i = 0; i < table_entries; ++i) {
            const std::uint64_t below = (table * table_entries) + i;
            entries[i] = below < level1 ? machine_address(map_tables.first + below) | table_flags : 0;
        }
    }
    const std::uint64_t level3 = first2 + level2;
    std::uint64_t* entries = window(level3);
    for (unsigned i = 0; i < table_entries; ++i) {
        entries[i] = i < level2 ? machine_address(first2 + i) | table_flags : 0;
    }
    vmm_l3_page = level3 + 1;
    entries = window(vmm_l3_page);
    std::memset(entries, 0, page_size);
    const std::uint64_t vmm_l2_page = (address_of(vmm_l2) - image_address) >> page_shift;
    entries[table_entries - 1] = machine_address(vmm_l2_page) | table_flags;
    window(~std::uint64_t{0});
    const std::uint64_t root = (domain.info->pt_base - boot_address) >> page_shift;
    queue_update(machine_address(root) + entry_offset(map_root_index), machine_address(level3) | table_flags);
    flush_updates();
}

std::uint64_t page_at_boot(std::uint64_t address) {
    return (address - boot_address) >> page_shift;
}

void find_free_memory() {
    constexpr std::uint64_t boot_stack_pages = 2;
    boot_tables = {page_at_boot(domain.info->pt_base),
                   page_at_boot(domain.info->pt_base) + domain.info->nr_pt_frames};
    const std::uint64_t boot_end = boot_tables.end + boot_stack_pages;
    module_pages = {domain.info->mod_start,
                    domain.info->mod_start + ((domain.info->mod_len + page_size - 1) >> page_shift)};
    if (domain.info->mod_len == 0 || (domain.info->flags & SIF_MOD_START_PFN) == 0 ||
        module_pages.first >= domain.pages || module_pages.end > domain.pages ||
        module_pages.end < module_pages.first) {
        stop_guest("there is no package: give the file that `previrt pack` wrote as the module");
    }
    free_memory = {boot_end, domain.pages};
    if (module_pages.first < boot_end) {
        return;
    }
    // The larger part, before or behind the module.
    if (module_pages.first - boot_end > domain.pages - module_pages.end) {
        free_memory.end = module_pages.first;
    } else {
        free_memory.first = module_pages.end;
    }
}

void divide_memory() {
    PackageHeader header{};
    if (package().size() < sizeof(header)) {
        stop_guest("the module is too short for a package; bytes:", package().size());
    }
    std::memcpy(&header, package().data(), sizeof(header));
    const std::uint64_t pages = header.guest_memory >> page_shift;
    constexpr std::uint64_t most_pages = std::uint64_t{1} << 28U;
    // A table maps 2 MiB; kernel and user mode see most pages at two or three addresses.
    const std::uint64_t tables = (pages / 32) + 512;
    pool = {free_memory.first, free_memory.first + tables};
    free_memory.first = pool.end;
    if (pages == 0 || pages > most_pages || pool.end > free_memory.end) {
        stop_guest("the domain has too little memory for the guest's, in pages:", pages);
    }
    copies = reinterpret_cast<std::uint64_t*>(take_memory(tables * page_size));
    published = take_memory(tables);
    guest_pages = {free_memory.end - pages, free_memory.end};
    if (pages > free_memory.end || guest_pages.first < free_memory.first) {
        stop_guest("the domain has too little memory for the guest's, in pages:", pages);
    }
    free_memory.end = guest_pages.first;
    guest_bytes = pages << page_shift;
}

} // namespace

std::uint8_t* page_pointer(std::uint64_t page) {
    return reinterpret_cast<std::uint8_t*>(map_address + (page << page_shift));
}

std::uint64_t page_of(const void* pointer) {
    return (reinterpret_cast<std::uint64_t>(pointer) - map_address) >> page_shift;
}

std::span<const std::uint8_t> package() {
    return {page_pointer(module_pages.first), domain.info->mod_len};
}

std::uint8_t* take_memory(std::uint64_t bytes) {
    const std::uint64_t pages = (bytes + page_size - 1) >> page_shift;
    if (pages > free_memory.end - free_memory.first) {
        stop_guest("the domain has too little memory for the VMM; bytes wanted:", bytes);
    }
    std::uint8_t* const memory = page_pointer(free_memory.first);
    free_memory.first += pages;
    std::memset(memory, 0, pages << page_shift);
    return memory;
}

void make_page_read_only(std::uint64_t page) {
    must_succeed(__HYPERVISOR_update_va_mapping, "update_va_mapping", address_of(page_pointer(page)),
                 map_entry_for(page, false), UVMF_INVLPG);
}

void start_address_space(const start_info* info) {
    domain = {.info = info,
              .machine_frames = reinterpret_cast<const std::uint64_t*>(info->mfn_list),
              .pages = info->nr_pages,
              .is_initial = (info->flags & SIF_INITDOMAIN) != 0};
    find_free_memory();
    build_map();
    // What Xen handed over is mapped only in the root that we will leave.
    domain.machine_frames =
        reinterpret_cast<const std::uint64_t*>(page_pointer(page_at_boot(info->mfn_list)));
    domain.info = reinterpret_cast<const start_info*>(page_pointer(page_at_boot(address_of(info))) +
                                                      (address_of(info) & (page_size - 1)));
    divide_memory();
}

} // namespace previrt::xen

namespace previrt::backend {

using namespace xen;

std::uint8_t* guest_ram() {
    return page_pointer(guest_pages.first);
}

std::uint64_t guest_ram_bytes() {
    return guest_bytes;
}

std::uint64_t machine_frame(std::uint64_t guest_frame) {
    return machine_frame_of(guest_pages.first + guest_frame);
}

std::uint64_t guest_frame_of(std::uint64_t frame) {
    const auto* const pages = reinterpret_cast<const std::uint64_t*>(MACH2PHYS_VIRT_START);
    return pages[frame] - guest_pages.first;
}

std::uint32_t table_count() {
    return static_cast<std::uint32_t>(pool.end - pool.first);
}

std::uint64_t table_machine_frame(TableNumber table) {
    return machine_frame_of(pool.first + table);
}

std::uint64_t* table_entries(TableNumber table) {
    return copies + (std::uint64_t{table} * xen::table_entries);
}

TableNumber table_at(std::uint64_t frame) {
    const auto* const pages = reinterpret_cast<const std::uint64_t*>(MACH2PHYS_VIRT_START);
    const std::uint64_t page = pages[frame];
    return pool.holds(page) ? static_cast<TableNumber>(page - pool.first) : ~TableNumber{0};
}

namespace {

void set_map_entry(std::uint64_t page, bool may_write) {
    const std::uint64_t table = map_tables.first + (page / xen::table_entries);
    queue_update(machine_address(table) + entry_offset(page % xen::table_entries),
                 map_entry_for(page, may_write));
}

} // namespace

void publish_table(TableNumber table) {
    const std::uint64_t page = pool.first + table;
    std::memcpy(page_pointer(page), table_entries(table), page_size);
    published[table] = 1;
    set_map_entry(page, false);
}

void retire_table(TableNumber table) {
    if (published[table] == 0) {
        return;
    }
    published[table] = 0;
    const std::uint64_t page = pool.first + table;
    set_map_entry(page, true);
    if (invalidation_count == most_updates) {
        flush_updates();
    }
    invalidations[invalidation_count] = {};
    invalidations[invalidation_count].cmd = MMUEXT_INVLPG_LOCAL;
    invalidations[invalidation_count++].arg1.linear_addr = address_of(page_pointer(page));
}

void write_entry(TableNumber table, unsigned index, std::uint64_t entry) {
    table_entries(table)[index] = entry;
    if (published[table] != 0) {
        queue_update(machine_address(pool.first + table) + entry_offset(index), entry);
    }
}

void flush_entries() {
    flush_updates();
}

namespace {

void change_pair(unsigned first_command, unsigned second_command, TableNumber kernel,
                 TableNumber user_table) {
    flush_updates();
    mmuext_op operations[2] = {};
    operations[0].cmd = first_command;
    operations[0].arg1.mfn = table_machine_frame(kernel);
    operations[1].cmd = second_command;
    operations[1].arg1.mfn = table_machine_frame(user_table);
    extended_operations(operations, 2);
}

} // namespace

void pin_root(TableNumber kernel, TableNumber user_table) {
    change_pair(MMUEXT_PIN_L4_TABLE, MMUEXT_PIN_L4_TABLE, kernel, user_table);
}

void unpin_root(TableNumber kernel, TableNumber user_table) {
    change_pair(MMUEXT_UNPIN_TABLE, MMUEXT_UNPIN_TABLE, kernel, user_table);
}

void load_root(TableNumber kernel, TableNumber user_table) {
    change_pair(MMUEXT_NEW_BASEPTR, MMUEXT_NEW_USER_BASEPTR, kernel, user_table);
}

void invalidate_page(std::uint64_t address) {
    flush_updates();
    mmuext_op operation{};
    operation.cmd = MMUEXT_INVLPG_LOCAL;
    operation.arg1.linear_addr = address;
    extended_operations(&operation, 1);
}

void queue_invalidate_all() {
    flush_is_queued = true;
}

void invalidate_all() {
    flush_updates();
    mmuext_op operation{};
    operation.cmd = MMUEXT_TLB_FLUSH_LOCAL;
    extended_operations(&operation, 1);
}

std::uint64_t map_entry() {
    return machine_address(map_tables.end - 2) | table_flags;
}

unsigned map_slot() {
    return map_root_index;
}

std::uint64_t vmm_entry(unsigned level) {
    const std::uint64_t first = (address_of(vmm_l1) - image_address) >> page_shift;
    const std::uint64_t lower = level == 3 ? first + 1 : first;
    const std::uint64_t page = level == 4 ? vmm_l3_page : lower;
    return machine_address(page) | table_flags;
}

bool slot_is_reserved(unsigned root_index) {
    constexpr unsigned first = 256;
    constexpr unsigned last = 271;
    return root_index >= first && root_index <= last;
}

} // namespace previrt::backend
