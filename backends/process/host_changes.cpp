// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/host_changes.hpp"

#include "backends/process/address_space_processes.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/host_ranges.hpp"
#include "backends/process/system_call.hpp"
#include "backends/process/table_uses.hpp"
#include "backends/process/user_mode/calls.hpp"
#include "backends/process/user_mode/map.hpp"
#include "backends/process/user_mode/process.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/backend/processors.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace previrt::process {

namespace {

using backend::TableNumber;

Changes<64> kernel_changes; // every process follows them

std::uint64_t address_in_ram(std::uint64_t frame) {
    return ram_address + ((frame - first_guest_frame()) << page_shift);
}

void follow(const Change& change) {
    change_range(change.address, change.bytes, change.protection);
}

// The next changes that are followed are all there can be.
void outdate_everything() {
    outdate_all_hosts();
    kernel_changes.overflow();
}

void note_of_space(AddressSpace& space, const Change& change) {
    const Host& host = current_host();
    if (host.space == &space && space.changes.count - host.changes_seen == most_user_changes) {
        follow_changes();
    }
    space.changes.append(change);
}

void note_of_user_processes(AddressSpace& space, const Change& change) {
    space.isolated_changes.append(change);
    if (current_host().space == &space) {
        follow_changes_of_user_process();
    }
}

void note(const Use& use, std::uint8_t sides, Change change) {
    if (use.is_shared) {
        outdate_everything();
        return;
    }
    if (is_kernels(change.address)) {
        change.protection = 0;
        kernel_changes.append(change);
        return;
    }
    if (!use.is_of_present_space()) {
        return;
    }
    if ((sides & users_side) != 0) {
        note_of_user_processes(*use.space, change);
    }
    if ((sides & kernels_side) != 0) {
        note_of_space(*use.space, change);
    }
}

// The addresses below an entry that named this table. It may live on below another entry.
void note_unlinked(TableNumber table) {
    if (use_of(table).is_known()) {
        note_retired(table);
        return;
    }
    if (!use_of(table).is_on_a_path) {
        return; // the host maps nothing by it
    }
    for (const std::uint64_t entry : std::span(backend::table_entries(table), entries_per_table)) {
        const TableNumber child = entry == 0 ? no_table : table_below(entry);
        if (child != no_table) {
            note_unlinked(child);
        }
    }
}

// Of a table above level 1.
void note_link_change(std::uint64_t old, std::uint64_t changed) {
    constexpr std::uint64_t rights = page_present | page_writable | page_no_execute;
    const TableNumber child = table_below(old);
    if (child == no_table) {
        return;
    }
    const bool is_same =
        machine_frame_in(old) == machine_frame_in(changed) && ((old ^ changed) & rights) == 0;
    if (!is_same) {
        note_unlinked(child);
    }
}

} // namespace

void let_write(std::uint64_t frame, bool let) {
    kernel_changes.append({.address = address_in_ram(frame),
                           .bytes = page_size,
                           .protection = let ? may_read | may_write | may_execute : may_read | may_execute});
    follow_changes();
}

void change_entry_of(TableNumber table, unsigned index, std::uint64_t changed) {
    std::uint64_t& entry = backend::table_entries(table)[index];
    const std::uint64_t old = entry;
    const Use& use = use_of(table);
    if (!use.is_known()) { // no level-1 table, or never used
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
            clear_mapped_by(side, table, index);
        }
    }
    note(use, sides,
         {.address = address,
          .bytes = page_size,
          .protection = stays ? protection_of(changed) & ~use.forbidden : 0});
}

void note_retired(TableNumber table) {
    const Use& use = use_of(table);
    if (use.is_known()) {
        note(use, isolates() ? kernels_side | users_side : kernels_side,
             {.address = use.address, .bytes = large_page_size, .protection = 0});
    }
    forget_use(table);
}

void note_evicted(std::uint64_t address) {
    if (backend::processor_count() != 1) {
        note_of_space(*current_host().space, {.address = address, .bytes = large_page_size, .protection = 0});
    }
}

namespace {

void follow_users_changes(Host& host) {
    const bool is_too_late =
        host.space != nullptr && host.space->changes.count - host.changes_seen > most_user_changes;
    if (host.is_outdated || is_too_late) {
        empty_users_part();
        host.is_outdated = false;
        host.changes_seen = host.space == nullptr ? 0 : host.space->changes.count;
    }
    if (host.space == nullptr) {
        return;
    }
    Changes<most_user_changes>& changes = host.space->changes;
    for (; host.changes_seen != changes.count; ++host.changes_seen) {
        follow(changes.last[host.changes_seen % most_user_changes]);
    }
    changes.seen = std::max(changes.seen, host.changes_seen);
}

void follow_kernels_changes(Host& host) {
    if (kernel_changes.count - host.kernel_changes_seen > std::size(kernel_changes.last)) {
        empty_kernels_part();
        change_range(ram_address, handover.guest_memory, may_read | may_write | may_execute);
        for_each_executed_frame([](std::uint64_t frame) {
            change_range(address_in_ram(frame), page_size, may_read | may_execute);
        });
        host.kernel_changes_seen = kernel_changes.count;
    }
    for (; host.kernel_changes_seen != kernel_changes.count; ++host.kernel_changes_seen) {
        follow(kernel_changes.last[host.kernel_changes_seen % std::size(kernel_changes.last)]);
    }
    kernel_changes.seen = std::max(kernel_changes.seen, host.kernel_changes_seen);
}

} // namespace

void follow_changes() {
    Host& host = current_host();
    follow_users_changes(host);
    follow_kernels_changes(host);
    follow_changes_of_user_process();
}

// The program may be in a stub of a site (user_mode/calls.hpp) that this forgets: its address is found
// before.
void follow_changes_of_user_process() {
    if (!isolates()) {
        return;
    }
    Host& host = current_host();
    const unsigned number = number_of(host);
    const bool is_too_late =
        host.space != nullptr &&
        host.space->isolated_changes.count - host.isolated_changes_seen > most_isolated_changes;
    if (host.user_is_outdated || is_too_late) {
        empty_user(number);
        host.user_is_outdated = false;
        host.isolated_changes_seen = host.space == nullptr ? 0 : host.space->isolated_changes.count;
    }
    if (host.space == nullptr) {
        return;
    }
    Changes<most_isolated_changes>& changes = host.space->isolated_changes;
    for (; host.isolated_changes_seen != changes.count; ++host.isolated_changes_seen) {
        const Change& change = changes.last[host.isolated_changes_seen % most_isolated_changes];
        note_user_protection(number, change.address, change.bytes, change.protection);
    }
    changes.seen = std::max(changes.seen, host.isolated_changes_seen);
}

namespace {

bool has_followed(const Host& host) {
    return !host.is_outdated && (host.space == nullptr || host.changes_seen == host.space->changes.count) &&
           host.kernel_changes_seen == kernel_changes.count;
}

bool user_process_has_followed(const Host& host) {
    return !host.user_is_outdated &&
           (host.space == nullptr || host.isolated_changes_seen == host.space->isolated_changes.count);
}

} // namespace

bool changes_are_followed() {
    return has_followed(current_host());
}

bool changes_are_followed_by(unsigned processor) {
    const Host* const host = current_host_of(processor);
    return host == nullptr ||
           (has_followed(*host) && (!runs_user_process(processor) || user_process_has_followed(*host)));
}

void forget_everything() {
    outdate_everything();
    follow_changes();
}

} // namespace previrt::process
