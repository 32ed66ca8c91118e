// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/user_mode/calls.hpp"

#include "backends/common/ring3/displaced_instructions.hpp"
#include "backends/common/ring3/machine_code.hpp"
#include "backends/common/ring3/user_call_sites.hpp"
#include "backends/common/ring3/vmm_lock.hpp"
#include "backends/process/address_space_processes.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/frame_offsets.h"
#include "backends/process/host_changes.hpp"
#include "backends/process/host_map.hpp"
#include "backends/process/host_ranges.hpp"
#include "backends/process/system_call.hpp"
#include "backends/process/user_mode/process.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace previrt::process {

extern "C" {
// entry.S: RCX is the address at which the guest continues.
void user_call();
extern std::uint32_t user_call_number;
}

namespace {

constexpr std::uint64_t nowhere = UserCallSite::nowhere;
constexpr unsigned most_copies = 64;
constexpr unsigned most_stubs = 512;
constexpr unsigned stub_bytes = 64;
constexpr unsigned stub_tail = 26;   // bytes behind the jump into the VMM
constexpr unsigned stub_target = 48; // the address at which it ends, and the one to which a call returns
static_assert(stub_tail + most_displaced_bytes <= stub_target && stub_target + 16 <= stub_bytes);

// A page of the guest with sites, and its executed copy.
struct Copy {
    std::uint64_t frame; // of the guest's page in the file, or nowhere
    std::uint8_t* original;
    std::uint8_t* page;
};
Copy copies[most_copies];
unsigned copy_count;
std::uint8_t* copy_pages;

UserCallSite sites[most_stubs];
unsigned site_end; // the first number that was never taken

// The part of each host process.
struct OwnCalls {
    std::uint64_t returns[most_stubs]; // the address behind each site whose stub is made; else nowhere
    std::uint8_t stubs[most_stubs][stub_bytes];
    std::uint64_t places[most_copies]; // the address of each executed copy
    std::uint8_t unused[slots_offset - (std::uint64_t{most_stubs} * (stub_bytes + 8)) -
                        (std::uint64_t{most_copies} * 8)];
    std::uint64_t slots[most_stubs]; // by slot_index: the targets of the sites' jumps
};
static_assert(sizeof(OwnCalls) <= calls_bytes && offsetof(OwnCalls, slots) == slots_offset);
static_assert(calls_address + offsetof(OwnCalls, returns) == USER_CALL_RETURNS);
static_assert(calls_address + offsetof(OwnCalls, stubs) + stub_tail == USER_CALL_TAILS);
static_assert(stub_bytes == 1U << USER_CALL_STUB_SHIFT);

OwnCalls& calls_of(unsigned host) {
    return *reinterpret_cast<OwnCalls*>(user_part(host));
}

// The current process's, or the VMM's mapping of its user process's.
OwnCalls& own() {
    return isolates() ? calls_of(number_of(current_host())) : *reinterpret_cast<OwnCalls*>(calls_address);
}

// The address at which they run.
constexpr std::uint64_t stubs_address = calls_address + offsetof(OwnCalls, stubs);
std::uint64_t stub_address(unsigned number) {
    return stubs_address + (std::uint64_t{number} * stub_bytes);
}

// At which the sites' jumps find them.
constexpr std::uint64_t slots_address = calls_address + slots_offset;

// ud2
void unmake_stub(OwnCalls& calls, unsigned number) {
    calls.slots[slot_index(number)] = stub_address(number);
    calls.returns[number] = nowhere;
    put(calls.stubs[number], 0x0b0f, 2);
}

void unmake_all(OwnCalls& calls) {
    for (unsigned i = 0; i < most_stubs; ++i) {
        unmake_stub(calls, i);
    }
    for (std::uint64_t& place : calls.places) {
        place = nowhere;
    }
}

std::uint64_t place_of(const UserCallSite& site) {
    const std::uint64_t page = site.is_taken() ? own().places[site.copy] : nowhere;
    return page == nowhere ? nowhere : page + site.offset;
}

// movabs $behind, %rcx; movl $number, user_call_number; jmp user_call; then the displaced instructions
void make_stub(unsigned number) {
    OwnCalls& calls = own();
    const UserCallSite& site = sites[number];
    const std::uint64_t behind = place_of(site) + system_call_bytes;
    const std::uint64_t entry = isolates() ? user_stub_address : reinterpret_cast<std::uint64_t>(&user_call);
    const std::uint64_t number_place = isolates() ? user_state_address + offsetof(UserState, call_number)
                                                  : reinterpret_cast<std::uint64_t>(&user_call_number);
    std::uint8_t* const first = calls.stubs[number];
    std::uint8_t* to = first;
    to = put(put(to, 0xb948, 2), behind, 8);
    to = put(put(put(to, 0x2504c7, 3), number_place, 4), number, 4);
    to = put_jump(to, stub_address(number) + static_cast<std::uint64_t>(to - first), entry);
    const StubEnd end{.target = stub_address(number) + stub_target,
                      .return_address = stub_address(number) + stub_target + 8};
    put_displaced(to, site.displaced, end);
    put(put(first + stub_target, behind + static_cast<std::uint64_t>(std::int64_t{site.displaced.target}), 8),
        behind + site.displaced.bytes, 8);
    calls.returns[number] = behind;
}

// Another processor has given up a site, perhaps while this one was about to tell of a fault at its jump.
[[gnu::section("processor")]] bool may_have_met_jump;

// Other processes still return to their stubs, which do the same.
void give_up(UserCallSite& site) {
    backend::gather_processors();
    site.give_up(copies[site.copy].page, copies[site.copy].original);
    for (unsigned i = 0; i < backend::processor_count(); ++i) {
        of_processor(i, may_have_met_jump) = i != vcpu.number;
    }
}

// The approximate number of calls of a site.
constexpr unsigned often = 64;
std::uint8_t calls_seen[4096];

bool is_frequent(std::uint64_t address) {
    std::uint8_t& seen = calls_seen[(address ^ (address >> 12U)) % sizeof(calls_seen)];
    return ++seen % often == 0;
}

std::uint8_t* page_of_frame(std::uint64_t frame) {
    return reinterpret_cast<std::uint8_t*>(ram_address + ((frame - first_guest_frame()) << page_shift));
}

Copy* find_copy(std::uint64_t frame) {
    for (Copy& copy : std::span(copies, copy_count)) {
        if (copy.frame == frame) {
            return &copy;
        }
    }
    return nullptr;
}

unsigned number_of(const Copy& copy) {
    return static_cast<unsigned>(&copy - copies);
}

bool is_current(const Copy& copy) {
    return std::memcmp(page_of_frame(copy.frame), copy.original, page_size) == 0;
}

void unmake_stubs_of(OwnCalls& calls, unsigned copy) {
    for (unsigned i = 0; i < site_end; ++i) {
        if (sites[i].copy == copy && calls.returns[i] != nowhere) {
            unmake_stub(calls, i);
        }
    }
}

void forget(OwnCalls& calls, std::uint64_t address, std::uint64_t bytes) {
    for (unsigned i = 0; i < copy_count; ++i) {
        std::uint64_t& place = calls.places[i];
        if (place != nowhere && place - address < bytes) {
            place = nowhere;
            unmake_stubs_of(calls, i);
        }
    }
}

// No process executes it any more: not even the current one, until its next change.
void drop(Copy& copy) {
    const std::uint64_t frame = copy.frame;
    backend::gather_processors();
    copy.frame = nowhere;
    outdate_all_hosts();
    let_write(frame, true);
}

bool is_used_at(const Copy& copy, backend::TableNumber root, std::uint64_t address) {
    const std::uint64_t entry = entry_in_force(root, address);
    return (entry & page_present) != 0 && machine_frame_in(entry) == copy.frame;
}

void use_copy(Copy& copy, backend::TableNumber root, std::uint64_t address) {
    const unsigned number = number_of(copy);
    std::uint64_t& place = own().places[number];
    if (place != address) {
        if (place != nowhere && is_used_at(copy, root, place)) {
            return; // a stub has one address
        }
        unmake_stubs_of(own(), number);
    }
    map_copy(address, reinterpret_cast<std::uint64_t>(copy.page));
    place = address; // behind it: if there are too many changes, all places are forgotten
}

} // namespace

void start_user_calls() {
    copy_pages = take_memory(std::uint64_t{2} * most_copies * page_size);
    unmake_all(own());
}

void start_user_calls_of(unsigned host) {
    if (isolates()) {
        unmake_all(calls_of(host));
    }
}

void forget_user_calls(std::uint64_t address, std::uint64_t bytes) {
    if (!isolates()) {
        forget(own(), address, bytes);
    }
}

void forget_user_calls(unsigned host, std::uint64_t address, std::uint64_t bytes) {
    forget(calls_of(host), address, bytes);
}

void note_user_call(backend::TableNumber root, std::uint64_t next) {
    const std::uint64_t address = next - system_call_bytes;
    const auto offset = static_cast<unsigned>(address & (page_size - 1));
    if (handover.rewrites_user_calls == 0 || is_kernels(address) || !is_frequent(address)) {
        return;
    }
    const std::uint64_t entry = entry_in_force(root, address);
    if ((entry & (page_present | page_writable | page_no_execute)) != page_present ||
        backend::guest_frame_of(machine_frame_in(entry)) >= handover.guest_memory >> page_shift) {
        return;
    }
    const std::uint64_t frame = machine_frame_in(entry);
    const std::uint8_t* const page = page_of_frame(frame);
    const DisplacedInstructions displaced = displaced_at({page, page_size}, offset);
    const unsigned number = free_number(sites, displaced, slots_address);
    if (displaced.count == 0 || number == most_stubs) {
        return;
    }
    follow_changes_of_user_process(); // the copy may have another place
    backend::gather_processors();     // they may execute the copy, or write to the page
    Copy* copy = find_copy(frame);
    if (copy == nullptr) {
        if (copy_count == most_copies) {
            return;
        }
        copy = &copies[copy_count];
        std::uint8_t* const pages = copy_pages + (std::uint64_t{2} * copy_count * page_size);
        *copy = {.frame = frame, .original = pages, .page = pages + page_size};
        std::memcpy(copy->original, page, page_size);
        std::memcpy(copy->page, page, page_size);
        ++copy_count;
        forget_everything(); // a writable mapping of it has to show, wherever it is
    } else if (!is_current(*copy)) {
        drop(*copy);
        return;
    }
    if (has_site(std::span(sites, site_end), number_of(*copy), offset)) {
        return; // this process executes the original
    }
    sites[number] = {.copy = static_cast<std::uint16_t>(number_of(*copy)),
                     .offset = static_cast<std::uint16_t>(offset),
                     .jumps_behind = 0,
                     .is_given_up = false,
                     .displaced = displaced};
    site_end = std::max(site_end, number + 1);
    put_user_call_jump(copy->page + offset, slot_address(slots_address, number));
    ++counters.system_calls_rewritten;
    use_copy(*copy, root, address & ~(page_size - 1));
}

void follow_mapping(backend::TableNumber root, const UserMapping& mapping) {
    for (Copy& copy : std::span(copies, copy_count)) {
        const std::uint64_t offset = (copy.frame - mapping.frame) << page_shift;
        if (copy.frame == nowhere || copy.frame < mapping.frame || offset >= mapping.bytes) {
            continue;
        }
        if (mapping.is_writable || !is_current(copy)) {
            drop(copy);
        } else if (mapping.is_executed) {
            use_copy(copy, root, mapping.address + offset);
        } else {
            map_for_reading(mapping.address + offset, copy.frame);
        }
    }
}

bool let_kernel_write(std::uint64_t address) {
    Copy* const copy = address - ram_address < handover.guest_memory
                           ? find_copy(first_guest_frame() + ((address - ram_address) >> page_shift))
                           : nullptr;
    if (copy != nullptr) {
        drop(*copy);
    }
    return copy != nullptr;
}

void for_each_executed_frame(void (*action)(std::uint64_t frame)) {
    for (const Copy& copy : std::span(copies, copy_count)) {
        if (copy.frame != nowhere) {
            action(copy.frame);
        }
    }
}

bool resolve_user_call(std::uint64_t address) {
    const std::uint64_t stub = address - stubs_address;
    for (unsigned i = 0; i < site_end; ++i) {
        UserCallSite& site = sites[i];
        const std::uint64_t place = place_of(site);
        if (place == nowhere) {
            continue;
        }
        const bool is_at_stub = stub / stub_bytes == i;
        const bool has_stub = own().returns[i] != nowhere;
        const bool is_there = site.displaced.begins_at(address - (place + system_call_bytes));
        if (is_there && site.is_given_up && may_have_met_jump) {
            may_have_met_jump = false;
            return true;
        }
        const bool is_behind = is_there && !site.is_given_up;
        if (is_behind && has_stub && ++site.jumps_behind == most_jumps_behind) {
            give_up(site);
        }
        if (!has_stub && !site.is_given_up && (is_at_stub || is_behind)) {
            make_stub(i);
        }
        if (is_behind || (is_at_stub && !has_stub)) {
            return true; // a fault in a stub that is made is the program's
        }
    }
    return false;
}

} // namespace previrt::process

namespace previrt {

using namespace process;

std::uint64_t address_seen(std::uint64_t address) {
    const std::uint64_t offset = address - stubs_address;
    if (offset >= sizeof(own().stubs)) {
        return address;
    }
    const UserCallSite& site = sites[offset / stub_bytes];
    const std::uint64_t in_stub = offset % stub_bytes;
    const std::uint64_t at_site = place_of(site);
    if (in_stub < stub_tail) {
        return at_site;
    }
    return at_site + system_call_bytes +
           static_cast<std::uint64_t>(site.displaced.seen_at(in_stub - stub_tail));
}

std::uint64_t address_executed(std::uint64_t address) {
    const OwnCalls& calls = own();
    for (unsigned i = 0; i < site_end; ++i) {
        if (sites[i].covers(address, calls.returns[i])) {
            return stub_address(i) + stub_tail + (address - calls.returns[i]);
        }
    }
    return address;
}

bool is_user_call(std::uint64_t address) {
    return std::ranges::any_of(std::span(sites, site_end), [&](const UserCallSite& site) {
        return !site.is_given_up && place_of(site) == address;
    });
}

} // namespace previrt
