// SPDX-License-Identifier: BSD-2-Clause
// The domain's memory: mapped as a whole, and divided between VMM and guest.
#include "backends/xen/domain.hpp"

#include "backends/common/contract/table_pool.hpp"
#include "backends/xen/table_updates.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/backend/released_memory.hpp"
#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/package.hpp"
#include "inplace-vmm/site_list.hpp"
#include "inplace-vmm/stop.hpp"

#include <cstring>

namespace previrt::xen {

Domain domain;
Memory memory;

extern "C" std::uint64_t vmm_l1[];
extern "C" std::uint64_t vmm_l2[];
extern "C" std::uint8_t image_data[];

namespace {

constexpr std::uint64_t address_mask = 0x000ffffffffff000;

PageRange free_memory; // not given away yet
PageRange module_pages;
PageRange boot_tables;

// Maps any page for a moment, before there is a map.
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

// Page tables, and the VMM's code.
bool is_read_only(std::uint64_t page) {
    return page < (address_of(image_data) - image_address) >> page_shift || boot_tables.holds(page) ||
           memory.map_tables.holds(page) || page == vmm_table_page(1) || page == vmm_table_page(2);
}

std::uint64_t tables_for(std::uint64_t entries) {
    return (entries + table_entries - 1) / table_entries;
}

// Level 1 for every page of the domain, level 2 above, and one table of level 3; then the spare table of
// level 3 that holds the VMM's own level 2.
void build_map() {
    const std::uint64_t level1 = tables_for(domain.pages);
    const std::uint64_t level2 = tables_for(level1);
    memory.map_tables = {free_memory.first, free_memory.first + level1 + level2 + 2};
    if (memory.map_tables.end > free_memory.end || level2 > table_entries) {
        stop_guest("the domain's memory does not hold its own map; pages:", domain.pages);
    }
    free_memory.first = memory.map_tables.end;
    for (std::uint64_t table = 0; table < level1; ++table) {
        std::uint64_t* const entries = window(memory.map_tables.first + table);
        for (unsigned i = 0; i < table_entries; ++i) {
            const std::uint64_t page = (table * table_entries) + i;
            entries[i] = page < domain.pages ? map_entry_for(page, !is_read_only(page)) : 0;
        }
    }
    const std::uint64_t first2 = memory.map_tables.first + level1;
    for (std::uint64_t table = 0; table < level2; ++table) {
        std::uint64_t* const entries = window(first2 + table);
        for (unsigned i = 0; i < table_entries; ++i) {
            const std::uint64_t below = (table * table_entries) + i;
            entries[i] = below < level1 ? machine_address(memory.map_tables.first + below) | table_flags : 0;
        }
    }
    const std::uint64_t level3 = first2 + level2;
    std::uint64_t* entries = window(level3);
    for (unsigned i = 0; i < table_entries; ++i) {
        entries[i] = i < level2 ? machine_address(first2 + i) | table_flags : 0;
    }
    entries = window(level3 + 1);
    std::memset(entries, 0, page_size);
    entries[table_entries - 1] = machine_address(vmm_table_page(2)) | table_flags;
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
    memory.pool = {free_memory.first, free_memory.first + table_pool::table_count(pages)};
    free_memory.first = memory.pool.end;
    if (pages == 0 || pages > most_pages || memory.pool.end > free_memory.end) {
        stop_guest("the domain has too little memory for the guest's, in pages:", pages);
    }
    memory.guest = {free_memory.end - pages, free_memory.end};
    if (pages > free_memory.end || memory.guest.first < free_memory.first) {
        stop_guest("the domain has too little memory for the guest's, in pages:", pages);
    }
    free_memory.end = memory.guest.first;
}

} // namespace

std::uint64_t map_entry_for(std::uint64_t page, bool may_write) {
    return machine_address(page) | entry_present | entry_user | entry_used | entry_no_execute |
           (may_write ? entry_writable : 0);
}

std::uint64_t vmm_table_page(unsigned level) {
    if (level == 3) {
        return memory.map_tables.end - 1;
    }
    return ((address_of(vmm_l1) - image_address) >> page_shift) + (level - 1);
}

std::uint8_t* page_pointer(std::uint64_t page) {
    return reinterpret_cast<std::uint8_t*>(map_address + (page << page_shift));
}

std::uint64_t page_of(const void* pointer) {
    return (reinterpret_cast<std::uint64_t>(pointer) - map_address) >> page_shift;
}

std::span<const std::uint8_t> package() {
    return {page_pointer(module_pages.first), domain.info->mod_len};
}

bool has_memory(std::uint64_t bytes) {
    return bytes <= (free_memory.end - free_memory.first) << page_shift;
}

std::uint8_t* take_memory(std::uint64_t bytes) {
    const std::uint64_t pages = (bytes + page_size - 1) >> page_shift;
    if (!has_memory(bytes)) {
        stop_guest("the domain has too little memory for the VMM; bytes wanted:", bytes);
    }
    std::uint8_t* const taken = page_pointer(free_memory.first);
    free_memory.first += pages;
    std::memset(taken, 0, pages << page_shift);
    return taken;
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
    // Xen mapped the data that it handed over only in the root that the VMM is about to leave.
    domain.machine_frames =
        reinterpret_cast<const std::uint64_t*>(page_pointer(page_at_boot(info->mfn_list)));
    domain.info = reinterpret_cast<const start_info*>(page_pointer(page_at_boot(address_of(info))) +
                                                      (address_of(info) & (page_size - 1)));
    divide_memory();
}

} // namespace previrt::xen

namespace previrt::backend {

using namespace xen;

std::span<KnownSite> memory_for_sites(std::size_t least) {
    const std::uint64_t bytes = std::uint64_t{least} * sizeof(KnownSite);
    if (!has_memory(bytes)) {
        return {};
    }
    return {reinterpret_cast<KnownSite*>(take_memory(bytes)), least};
}

// A domain would have to give pages up, and ask for others when the guest writes there again.
bool can_release_memory() {
    return false;
}

void release_memory(std::uint64_t first_frame, std::uint64_t /*count*/) {
    stop_guest("a domain keeps all its memory; to be released:", first_frame);
}

KernelFaults kernel_faults() {
    return KernelFaults::by_guest_stack;
}

} // namespace previrt::backend
