// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/range_eviction.hpp"

#include "backends/process/address_space_processes.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/host_changes.hpp"
#include "backends/process/host_ranges.hpp"
#include "backends/process/table_uses.hpp"
#include "backends/process/user_mode/process.hpp"
#include "frontends/x86/paging/page_entry.hpp"

namespace previrt::process {

namespace {

using backend::TableNumber;

// The addresses of one level-1 table.
struct Region {
    std::uint64_t address; // user_end: there is none
    TableNumber table;
};

constexpr std::uint64_t bytes_of_entry(unsigned level) {
    return page_size << (9U * (level - 1));
}

// It overlaps the kernel's image, the VMM or the modules.
bool is_fixed(std::uint64_t address) {
    return address + large_page_size > kernel_address && address < modules_end;
}

// The first one from this address on.
Region next_region(TableNumber root, std::uint64_t address) {
    while (address < user_end) {
        TableNumber table = root;
        unsigned level = root_level;
        for (; level > 1; --level) {
            const TableNumber child = table_below(backend::table_entries(table)[table_index(address, level)]);
            if (child == no_table) {
                break;
            }
            table = child;
        }
        if (level == 1 && !is_fixed(address)) {
            return {.address = address, .table = table};
        }
        const std::uint64_t step = bytes_of_entry(level == 1 ? 2 : level);
        address = (address & ~(step - 1)) + step;
    }
    return {.address = user_end, .table = no_table};
}

// The current process may have mapped pages of it.
bool is_used_here(const Region& region) {
    const Use& use = use_of(region.table);
    return use.is_shared ||
           (use.address == region.address && use.space == current_host().space && use.is_of_present_space());
}

bool may_be_mapped(TableNumber table, unsigned index) {
    constexpr std::uint64_t used = page_present | page_accessed;
    return (backend::table_entries(table)[index] & used) == used &&
           (!isolates() || is_mapped_by(kernels_side, table, index));
}

bool is_one_range(std::uint64_t entry, std::uint64_t next) {
    constexpr std::uint64_t rights = page_writable | page_no_execute;
    return ((entry ^ next) & rights) == 0 && machine_frame_in(next) == machine_frame_in(entry) + 1;
}

// The host joins neighbours, in whatever order they came.
std::uint64_t ranges_in(const Region& region) {
    if (!is_used_here(region)) {
        return 0;
    }
    const std::uint64_t* const entries = backend::table_entries(region.table);
    std::uint64_t ranges = 0;
    bool was_mapped = false;
    for (unsigned i = 0; i < entries_per_table; ++i) {
        const bool is_mapped = may_be_mapped(region.table, i);
        const bool continues = is_mapped && was_mapped && is_one_range(entries[i - 1], entries[i]);
        ranges += is_mapped && !continues ? 1 : 0;
        was_mapped = is_mapped;
    }
    return ranges;
}

std::uint64_t count_ranges(TableNumber root) {
    std::uint64_t ranges = 0;
    for (Region region = next_region(root, 0); region.address < user_end;
         region = next_region(root, region.address + large_page_size)) {
        ranges += ranges_in(region);
    }
    return ranges;
}

// In a table that other processes use, accessed bits stay: they may have mapped its pages.
void evict(const Region& region) {
    change_range(region.address, large_page_size, 0);
    if (use_of(region.table).is_shared) {
        return;
    }
    note_evicted(region.address); // by other processors' processes too
    std::uint64_t* const entries = backend::table_entries(region.table);
    for (unsigned i = 0; i < entries_per_table; ++i) {
        if (isolates()) {
            clear_mapped_by(kernels_side, region.table, i);
        } else {
            entries[i] &= ~std::uint64_t{page_accessed};
        }
    }
}

} // namespace

void evict_ranges(TableNumber root) {
    constexpr std::uint64_t part_evicted = 16; // more would come back at once, less is looked for too often
    static std::uint64_t hand;
    follow_changes(); // what is unmapped here must not change when other pages are there
    const std::uint64_t wanted = handover.most_ranges - (handover.most_ranges / part_evicted);
    std::uint64_t ranges = count_ranges(root);
    bool is_second_lap = false;
    while (ranges > wanted) {
        const Region region = next_region(root, hand);
        hand = region.address + large_page_size;
        if (region.address >= user_end) {
            if (is_second_lap) {
                break;
            }
            is_second_lap = true;
            hand = 0;
            continue;
        }
        const std::uint64_t evicted = ranges_in(region);
        if (evicted != 0) {
            evict(region);
            ranges -= evicted;
        }
    }
    current_host().mapped_ranges = ranges;
}

} // namespace previrt::process
