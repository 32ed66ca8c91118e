// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/host_map.hpp"

#include "backends/process/address_space_processes.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/host_ranges.hpp"
#include "backends/process/range_eviction.hpp"
#include "backends/process/system_call.hpp"
#include "backends/process/table_uses.hpp"
#include "backends/process/user_mode/calls.hpp"
#include "backends/process/user_mode/map.hpp"
#include "backends/process/user_mode/process.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/stop.hpp"

#include <algorithm>

namespace previrt::process {

namespace {

using backend::TableNumber;

// Hosts let nobody map anything below a limit of their own (vm.mmap_min_addr, 65536 by default).
constexpr std::uint64_t often_refused_end = 0x10000;
constexpr std::uint64_t low_addresses_end = kernel_address;

// The level-1 entry of an address, with the rights that the entries above leave.
struct Leaf {
    TableNumber table;
    std::uint64_t* place; // nullptr: there is no table
    std::uint64_t writable;
    std::uint64_t no_execute;

    [[nodiscard]] std::uint64_t effective(std::uint64_t entry) const {
        return (entry & (writable | ~std::uint64_t{page_writable})) | no_execute;
    }

    void note_use(std::uint64_t address) const {
        constexpr std::uint32_t all = may_read | may_write | may_execute;
        process::note_use(table, address, all & ~protection_of(effective(page_writable)));
    }
};

Leaf find_leaf(TableNumber root, std::uint64_t address) {
    Leaf leaf{.table = root, .place = nullptr, .writable = page_writable, .no_execute = 0};
    for (unsigned level = root_level; level > 1; --level) {
        note_path(leaf.table);
        const std::uint64_t entry = backend::table_entries(leaf.table)[table_index(address, level)];
        leaf.table = table_below(entry);
        if (leaf.table == no_table) {
            return leaf;
        }
        leaf.writable &= entry;
        leaf.no_execute |= entry & page_no_execute;
    }
    leaf.place = &backend::table_entries(leaf.table)[table_index(address, 1)];
    return leaf;
}

// Neighbouring entries that one mapping can cover.
struct Run {
    unsigned before;
    unsigned behind;
};

Run find_run(const Leaf& leaf, std::uint64_t address, Side side) {
    if (address >= fixed_map_address) {
        return {.before = 0, .behind = 0}; // Linux changes these one by one, 31 000 times in a boot
    }
    // Mapped pages are not mapped again: the host would unmap them first. In a shared table an accessed bit
    // may be another process's.
    const bool is_shared = use_of(leaf.table).is_shared;
    const std::uint64_t same = page_present | page_writable | page_no_execute |
                               (is_shared || isolates() ? 0 : std::uint64_t{page_accessed});
    const std::uint64_t entry = *leaf.place;
    const unsigned index = table_index(address, 1);
    // If this page was mapped, and faults, the process has lost its mapping, and those of the neighbours too.
    // A page that is executed also faults because it is mapped for reading only.
    const bool was_mapped =
        isolates() && (entry & page_no_execute) != 0 && is_mapped_by(side, leaf.table, index);
    const auto continues = [&](int distance) {
        const std::uint64_t next = leaf.place[distance];
        if (isolates() && !is_shared && !was_mapped &&
            is_mapped_by(side, leaf.table, static_cast<unsigned>(static_cast<int>(index) + distance))) {
            return false;
        }
        return ((entry ^ next) & same) == 0 &&
               machine_frame_in(next) == machine_frame_in(entry) + static_cast<std::uint64_t>(distance);
    };
    Run run{.before = 0, .behind = 0};
    if (address < often_refused_end) {
        return run;
    }
    const std::uint64_t most_before =
        std::min<std::uint64_t>(index, (address - often_refused_end) >> page_shift);
    while (run.before < most_before && continues(-1 - static_cast<int>(run.before))) {
        ++run.before;
    }
    while (index + run.behind + 1 < entries_per_table && continues(1 + static_cast<int>(run.behind))) {
        ++run.behind;
    }
    return run;
}

std::uint64_t start_of(const Run& run, std::uint64_t address) {
    return (address & ~(page_size - 1)) - (std::uint64_t{run.before} << page_shift);
}

void note_run(const Leaf& leaf, const Run& run, std::uint64_t address, Side side) {
    std::uint64_t* const first = leaf.place - run.before;
    const unsigned count = run.before + 1 + run.behind;
    for (unsigned i = 0; i < count; ++i) {
        first[i] |= page_accessed;
        if (isolates()) {
            set_mapped_by(side, leaf.table, table_index(address, 1) - run.before + i);
        }
    }
}

Mapped map_run(const Leaf& leaf, const Run& run, std::uint64_t address) {
    note_run(leaf, run, address, kernels_side);
    const std::uint64_t* const first = leaf.place - run.before;
    const unsigned count = run.before + 1 + run.behind;
    ++counters.hypercalls[call_map];
    count_crossing(call_map);
    if (!is_kernels(address)) {
        ++current_host().mapped_ranges;
    }
    return map_range(start_of(run, address), std::uint64_t{count} << page_shift, leaf.effective(*first));
}

} // namespace

std::uint64_t entry_in_force(TableNumber root, std::uint64_t address) {
    const Leaf leaf = find_leaf(root, address);
    return leaf.place == nullptr ? 0 : leaf.effective(*leaf.place);
}

void map_copy(std::uint64_t address, std::uint64_t page) {
    if (isolates()) {
        note_user_mapping(number_of(current_host()), address, page_size, may_read | may_execute,
                          page - arena_address);
        return;
    }
    map_range(address, page_size, (page - arena_address) | page_present);
}

void map_for_reading(std::uint64_t address, std::uint64_t frame) {
    if (isolates()) {
        note_user_mapping(number_of(current_host()), address, page_size, may_read, frame << page_shift);
        return;
    }
    map_range(address, page_size, (frame << page_shift) | page_present | page_no_execute);
}

namespace {

bool is_allowed(const Leaf& leaf, HostAccess access) {
    if (leaf.place == nullptr || (*leaf.place & page_present) == 0) {
        return false;
    }
    const std::uint64_t rights = leaf.effective(*leaf.place);
    return (!access.write || (rights & page_writable) != 0) &&
           (!access.fetch || (rights & page_no_execute) == 0);
}

// User mode may execute the page, or somebody write to a page whose copy is executed.
void follow_users_mapping(TableNumber root, const Leaf& leaf, const Run& run, std::uint64_t address,
                          HostAccess access) {
    const std::uint64_t first = *(leaf.place - run.before);
    const std::uint64_t start = start_of(run, address);
    const std::uint64_t bytes = std::uint64_t{run.before + 1 + run.behind} << page_shift;
    const bool is_writable = (leaf.effective(first) & page_writable) != 0;
    const bool is_users_code = !is_kernels(start) && (leaf.effective(first) & page_no_execute) == 0;
    if (is_writable || is_users_code) {
        follow_mapping(root, {.address = start,
                              .bytes = bytes,
                              .frame = machine_frame_in(first),
                              .is_writable = is_writable,
                              .is_executed = access.fetch});
    }
}

} // namespace

Filled fill_user(TableNumber root, std::uint64_t address, HostAccess access) {
    if (!isolates()) {
        return fill_host(root, address, access);
    }
    const Leaf leaf = find_leaf(root, address);
    if (!is_allowed(leaf, access)) {
        return Filled::absent;
    }
    if (address < often_refused_end) {
        const Filled filled = fill_host(root, address, access); // its mapping shows a refusal
        if (filled != Filled::done) {
            return filled;
        }
    }
    leaf.note_use(address);
    const Run run = find_run(leaf, address, users_side);
    const std::uint64_t start = start_of(run, address);
    const std::uint64_t bytes = std::uint64_t{run.before + 1 + run.behind} << page_shift;
    if (is_user_processes_own(start, bytes)) {
        stop_guest("the guest maps memory for user mode over the stub of --isolate, at", address);
    }
    note_run(leaf, run, address, users_side);
    const std::uint64_t first = *(leaf.place - run.before);
    note_user_mapping(number_of(current_host()), start, bytes, protection_of(leaf.effective(first)),
                      machine_frame_in(first) << page_shift);
    follow_users_mapping(root, leaf, run, address, access);
    return Filled::done;
}

Filled fill_host(TableNumber root, std::uint64_t address, HostAccess access) {
    const Leaf leaf = find_leaf(root, address);
    if (!is_allowed(leaf, access)) {
        return Filled::absent;
    }
    if (current_host().mapped_ranges >= handover.most_ranges) {
        evict_ranges(root);
    }
    leaf.note_use(address);
    Run run = find_run(leaf, address, kernels_side);
    Mapped mapped = map_run(leaf, run, address);
    if (mapped == Mapped::refused && run.before != 0) { // perhaps because of its neighbours
        run.before = 0;
        mapped = map_run(leaf, run, address);
    }
    if (mapped == Mapped::refused && address < low_addresses_end) {
        return Filled::refused;
    }
    if (mapped != Mapped::done) {
        empty_users_part();
        empty_kernels_part();
        if (map_run(leaf, run, address) != Mapped::done) {
            stop_guest("the host does not map a page of the guest's at", address);
        }
    }
    // With --isolate nothing is executed here, but written.
    if (!isolates() || (leaf.effective(*(leaf.place - run.before)) & page_writable) != 0) {
        follow_users_mapping(root, leaf, run, address, access);
    }
    return Filled::done;
}

void map_kernel(const backend::KernelImage& image) {
    const std::uint64_t frame = first_guest_frame() + (image.physical >> page_shift);
    const std::uint64_t entry = (frame << page_shift) | page_present | page_writable;
    if (image.bytes > kernel_room || map_range(image.address, image.bytes, entry) != Mapped::done) {
        stop_guest("the kernel's image finds no room at", image.address);
    }
}

} // namespace previrt::process
