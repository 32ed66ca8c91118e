// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/host_map.hpp"

#include "backends/process/address_space_processes.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/system_call.hpp"
#include "backends/process/user_mode/calls.hpp"
#include "backends/process/user_mode/map.hpp"
#include "backends/process/user_mode/process.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/stop.hpp"

#include <algorithm>

namespace previrt::process {

namespace {

using backend::TableNumber;

constexpr TableNumber no_table = ~TableNumber{0};
constexpr std::uint64_t nowhere = ~std::uint64_t{0};

// The last use of a level-1 table.
struct Use {
    std::uint64_t address = nowhere; // of its first entry
    Host* host = nullptr;
    bool is_shared = false; // more than one address or process
};
Use* uses; // by table

// The process that may map a page of the guest: its host process, or with --isolate the user process beside
// it.
enum Side : std::uint8_t { kernels_side = 1, users_side = 2 };

// The sides that may map each entry of a level-1 table; used with --isolate alone.
struct MappedBy {
    std::uint64_t kernel[entries_per_table / 64];
    std::uint64_t user[entries_per_table / 64];

    std::uint64_t& word(Side side, unsigned index) {
        return (side == users_side ? user : kernel)[index / 64];
    }
};
MappedBy* mapped_by; // by table

bool is_mapped_by(Side side, TableNumber table, unsigned index) {
    return (mapped_by[table].word(side, index) >> (index % 64) & 1U) != 0;
}

void set_mapped_by(Side side, TableNumber table, unsigned index) {
    mapped_by[table].word(side, index) |= std::uint64_t{1} << (index % 64);
}

std::uint8_t sides_of(TableNumber table, unsigned index) {
    if (!isolates()) {
        return kernels_side;
    }
    return (is_mapped_by(kernels_side, table, index) ? kernels_side : 0) |
           (is_mapped_by(users_side, table, index) ? users_side : 0);
}

// A change for the current process, or for every process if it is in the kernel's part.
struct Change {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint32_t protection; // 0: unmap
};
constexpr unsigned most_changes = 128;
Change changes[most_changes];
unsigned change_count;

constexpr unsigned most_kernel_changes = 64;
Change kernel_changes[most_kernel_changes];
std::uint64_t kernel_change_count; // in total; the last ones are kept

constexpr std::uint64_t most_ranges = 50000; // of 65530 that Linux allows by default

// Hosts let nobody map anything below a limit of their own (vm.mmap_min_addr, 65536 by default).
constexpr std::uint64_t often_refused_end = 0x10000;
constexpr std::uint64_t low_addresses_end = kernel_address;

bool is_kernels(std::uint64_t address) {
    return address >= user_end || (address >= modules_address && address < modules_end);
}

std::uint32_t protection_of(std::uint64_t entry) {
    return may_read | ((entry & page_writable) != 0 ? may_write : 0U) |
           ((entry & page_no_execute) == 0 ? may_execute : 0U);
}

void unmap(std::uint64_t from, std::uint64_t to) {
    ++counters.hypercalls[call_unmap];
    call_host(process::call_munmap, {.first = from, .second = to - from});
}

bool protect(std::uint64_t address, std::uint64_t bytes, std::uint32_t protection) {
    ++counters.hypercalls[call_protect];
    return call_host(process::call_mprotect, {.first = address, .second = bytes, .third = protection}) == 0;
}

std::uint64_t address_in_ram(std::uint64_t frame) {
    return ram_address + ((frame - first_guest_frame()) << page_shift);
}

void empty_users_part() {
    unmap(0, kernel_address);
    unmap(modules_end, user_end);
    forget_user_calls(0, user_end);
}

void empty_kernels_part() {
    unmap(modules_address, modules_end);
    unmap(mapped_slot_address, host_end);
}

enum class Mapped : std::uint8_t { done, failed, refused };

Mapped map_range(std::uint64_t address, std::uint64_t bytes, std::uint64_t entry) {
    // Otherwise the host would fault in turn at the first use. More might allocate memory that nobody has
    // touched.
    constexpr std::uint64_t most_in_advance = 16 * page_size;
    const std::uint64_t in_advance = bytes <= most_in_advance ? std::uint64_t{map_populate} : 0;
    const std::int64_t got = call_host(process::call_mmap, {.first = address,
                                                            .second = bytes,
                                                            .third = protection_of(entry),
                                                            .fourth = map_shared | map_fixed | in_advance,
                                                            .fifth = memory_descriptor,
                                                            .sixth = machine_frame_in(entry) << page_shift});
    constexpr std::int64_t not_permitted = -1;
    constexpr std::int64_t access_denied = -13;
    if (got == static_cast<std::int64_t>(address)) {
        return Mapped::done;
    }
    return got == not_permitted || got == access_denied ? Mapped::refused : Mapped::failed;
}

void append(Change* list, unsigned& count, Change change) {
    if (count != 0) {
        Change& last = list[count - 1];
        if (last.address + last.bytes == change.address && last.protection == change.protection) {
            last.bytes += change.bytes;
            return;
        }
    }
    list[count++] = change;
}

void follow(const Change& change) {
    if (change.protection != 0 && protect(change.address, change.bytes, change.protection)) {
        return;
    }
    unmap(change.address, change.address + change.bytes);
    forget_user_calls(change.address, change.bytes);
}

void note(const Use& use, std::uint8_t sides, Change change) {
    if (is_kernels(change.address)) {
        change.protection = 0;
        kernel_changes[kernel_change_count++ % most_kernel_changes] = change;
        return;
    }
    if (use.is_shared) {
        outdate_all_hosts();
        return;
    }
    if ((sides & users_side) != 0) {
        note_user_protection(number_of(*use.host), change.address, change.bytes, change.protection);
    }
    if ((sides & kernels_side) == 0) {
        return;
    }
    if (use.host != &current_host()) {
        use.host->is_outdated = true;
    } else {
        if (change_count == most_changes) {
            follow_changes();
        }
        append(changes, change_count, change);
    }
}

// The level-1 entry of an address, with the rights that the entries above leave.
struct Leaf {
    TableNumber table;
    std::uint64_t* place; // nullptr: there is no table
    std::uint64_t writable;
    std::uint64_t no_execute;

    [[nodiscard]] std::uint64_t effective(std::uint64_t entry) const {
        return (entry & (writable | ~std::uint64_t{page_writable})) | no_execute;
    }
};

Leaf find_leaf(TableNumber root, std::uint64_t address) {
    Leaf leaf{.table = root, .place = nullptr, .writable = page_writable, .no_execute = 0};
    for (unsigned level = root_level; level > 1; --level) {
        const std::uint64_t entry = backend::table_entries(leaf.table)[table_index(address, level)];
        leaf.table = (entry & page_present) != 0 ? backend::table_at(machine_frame_in(entry)) : no_table;
        if (leaf.table == no_table) {
            return leaf;
        }
        leaf.writable &= entry;
        leaf.no_execute |= entry & page_no_execute;
    }
    leaf.place = &backend::table_entries(leaf.table)[table_index(address, 1)];
    return leaf;
}

void note_use(TableNumber table, std::uint64_t address) {
    Use& use = uses[table];
    const std::uint64_t first = address & ~(large_page_size - 1);
    if (use.address == nowhere) {
        use = {.address = first, .host = &current_host(), .is_shared = false};
    } else if (use.address != first || (use.host != &current_host() && !is_kernels(address))) {
        use.is_shared = true;
    }
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
    const bool is_shared = uses[leaf.table].is_shared;
    const std::uint64_t same = page_present | page_writable | page_no_execute |
                               (is_shared || isolates() ? 0 : std::uint64_t{page_accessed});
    const std::uint64_t entry = *leaf.place;
    const unsigned index = table_index(address, 1);
    const auto continues = [&](int distance) {
        const std::uint64_t next = leaf.place[distance];
        if (isolates() && !is_shared &&
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
    if (++current_host().mapped_ranges > most_ranges) {
        return Mapped::failed;
    }
    return map_range(start_of(run, address), std::uint64_t{count} << page_shift, leaf.effective(*first));
}

} // namespace

void start_host_map() {
    uses = reinterpret_cast<Use*>(take_memory(std::uint64_t{memory.table_count} * sizeof(Use)));
    for (TableNumber table = 0; table < memory.table_count; ++table) {
        uses[table] = {};
    }
    if (isolates()) { // all zero, as it comes
        mapped_by =
            reinterpret_cast<MappedBy*>(take_memory(std::uint64_t{memory.table_count} * sizeof(MappedBy)));
    }
}

std::uint64_t entry_in_force(TableNumber root, std::uint64_t address) {
    const Leaf leaf = find_leaf(root, address);
    return leaf.place == nullptr ? 0 : leaf.effective(*leaf.place);
}

void let_write(std::uint64_t frame, bool let) {
    kernel_changes[kernel_change_count++ % most_kernel_changes] = {
        .address = address_in_ram(frame),
        .bytes = page_size,
        .protection = let ? may_read | may_write | may_execute : may_read | may_execute};
    follow_changes();
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

// User mode may execute the page, or write to a page whose copy is executed.
void follow_users_mapping(TableNumber root, const Leaf& leaf, const Run& run, std::uint64_t address,
                          HostAccess access) {
    const std::uint64_t first = *(leaf.place - run.before);
    const std::uint64_t start = start_of(run, address);
    const std::uint64_t bytes = std::uint64_t{run.before + 1 + run.behind} << page_shift;
    const bool is_writable = (leaf.effective(first) & page_writable) != 0;
    if (start < user_end && (is_writable || (leaf.effective(first) & page_no_execute) == 0)) {
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
    note_use(leaf.table, address);
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
    note_use(leaf.table, address);
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
        current_host().mapped_ranges = 1;
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

namespace {

// Of a table above level 1.
void note_link_change(std::uint64_t old, std::uint64_t changed) {
    constexpr std::uint64_t rights = page_present | page_writable | page_no_execute;
    const TableNumber child = (old & page_present) != 0 ? backend::table_at(machine_frame_in(old)) : no_table;
    if (child == no_table) {
        return;
    }
    const bool is_same =
        machine_frame_in(old) == machine_frame_in(changed) && ((old ^ changed) & rights) == 0;
    if (!is_same && uses[child].address != nowhere) {
        note_retired(child);
    } else if (!is_same && machine_frame_in(old) == machine_frame_in(changed)) {
        forget_everything(); // the rights of more than 2 MiB change
    }
}

} // namespace

void change_entry_of(TableNumber table, unsigned index, std::uint64_t changed) {
    std::uint64_t& entry = backend::table_entries(table)[index];
    const std::uint64_t old = entry;
    const Use& use = uses[table];
    if (use.address == nowhere) { // no level-1 table, or never used
        entry = changed;
        note_link_change(old, changed);
        return;
    }
    entry = changed;
    constexpr std::uint64_t used = page_present | page_accessed;
    if ((old & used) != used) {
        return;
    }
    const std::uint64_t address = use.address + (std::uint64_t{index} << page_shift);
    // An executable page may be a copy (user_mode/calls.hpp).
    const bool stays = (changed & page_present) != 0 && (old & page_no_execute) != 0 &&
                       machine_frame_in(changed) == machine_frame_in(old) && !is_kernels(address);
    const std::uint8_t sides = sides_of(table, index);
    if (stays) {
        entry |= page_accessed;
    } else if (isolates()) {
        for (const Side side : {kernels_side, users_side}) {
            mapped_by[table].word(side, index) &= ~(std::uint64_t{1} << (index % 64));
        }
    }
    note(use, sides,
         {.address = address, .bytes = page_size, .protection = stays ? protection_of(changed) : 0});
}

void note_retired(TableNumber table) {
    Use& use = uses[table];
    if (use.address != nowhere) {
        note(use, isolates() ? kernels_side | users_side : kernels_side,
             {.address = use.address, .bytes = large_page_size, .protection = 0});
        use = {};
        if (isolates()) {
            mapped_by[table] = {};
        }
    }
}

void follow_changes() {
    Host& host = current_host();
    if (host.is_outdated) {
        empty_users_part();
        host.is_outdated = false;
        change_count = 0;
    }
    const unsigned count = change_count;
    change_count = 0;
    for (unsigned i = 0; i < count; ++i) {
        follow(changes[i]);
    }
    if (kernel_change_count - host.changes_seen > most_kernel_changes) {
        empty_kernels_part();
        protect(ram_address, handover.guest_memory, may_read | may_write | may_execute);
        for_each_executed_frame(
            [](std::uint64_t frame) { protect(address_in_ram(frame), page_size, may_read | may_execute); });
        host.changes_seen = kernel_change_count;
    }
    for (; host.changes_seen != kernel_change_count; ++host.changes_seen) {
        follow(kernel_changes[host.changes_seen % most_kernel_changes]);
    }
}

bool changes_are_followed() {
    const Host& host = current_host();
    return change_count == 0 && !host.is_outdated && host.changes_seen == kernel_change_count;
}

void forget_everything() {
    outdate_all_hosts();
    kernel_change_count += most_kernel_changes + 1;
    follow_changes();
}

void map_kernel(const backend::KernelImage& image) {
    const std::uint64_t frame = first_guest_frame() + (image.physical >> page_shift);
    const std::uint64_t entry = (frame << page_shift) | page_present | page_writable;
    if (image.bytes > kernel_room || map_range(image.address, image.bytes, entry) != Mapped::done) {
        stop_guest("the kernel's image finds no room at", image.address);
    }
}

} // namespace previrt::process
