// SPDX-License-Identifier: BSD-2-Clause
#include "backends/kvm/deprivileged/user_calls.hpp"

#include "backends/common/ring3/displaced_instructions.hpp"
#include "backends/common/ring3/machine_code.hpp"
#include "backends/common/ring3/user_call_sites.hpp"
#include "backends/kvm/deprivileged/domain.hpp"
#include "backends/kvm/deprivileged/processors.hpp"
#include "backends/kvm/deprivileged/user_call_offsets.h"
#include "frontends/x86/paging/shadow/replacements.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/stop.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

namespace previrt::kvm {

namespace {

constexpr std::uint64_t nowhere = UserCallSite::nowhere;
constexpr unsigned most_copies = 64;
constexpr unsigned most_sites = 256;
constexpr unsigned most_roots = 64;
constexpr unsigned stub_bytes = 1U << USER_CALL_STUB_SHIFT;
static_assert(USER_CALL_TAIL >= 8 + 7 + 11 + jump_bytes); // write_stub
static_assert(USER_CALL_TAIL + most_displaced_bytes <= stub_bytes);
constexpr std::uint64_t user_end = std::uint64_t{1} << 47U;
constexpr std::uint32_t sampled_of = 61; // a prime, because programs call in cycles

// A page of the guest with sites, whose copy is executed.
struct Copy {
    std::uint64_t guest_frame; // or nowhere
    std::uint8_t* page;
};

// The copies that a root executes. A root without copies is free.
struct Root {
    backend::TableNumber table;
    unsigned place_count;
    std::uint64_t places[most_copies]; // or nowhere
    shadow::Leaf leaves[most_copies];
    std::uint64_t returns[most_sites]; // behind each site, or nowhere
};

Copy copies[most_copies];
unsigned copy_count;
UserCallSite sites[most_sites];
unsigned site_end; // the first number that was never taken
Root* roots;
std::uint64_t no_returns[most_sites];

} // namespace

extern "C" {
void user_call();
extern std::uint32_t user_call_number;
extern std::uint64_t user_call_target;
extern std::uint64_t user_call_return_address;
extern std::uint64_t* user_call_returns;
extern std::uint32_t system_calls_to_sample;
std::uint8_t user_call_stubs[most_sites][stub_bytes];
[[gnu::section(".user_call_slots")]] std::uint64_t user_call_slots[most_sites];
// Of each stub: the distances from behind the system call at which it ends, and to which a call returns.
std::int32_t user_call_targets[most_sites];
std::uint8_t user_call_lengths[most_sites];

// In a table that two roots share, the site's address is unknown.
[[noreturn]] void user_call_is_unknown() {
    stop_guest("a rewritten system call comes from a page that no root is known to have; its number:",
               user_call_number);
}
}

namespace {

template <typename Place>
std::uint64_t address_of(Place* place) {
    return reinterpret_cast<std::uint64_t>(place);
}

// mov user_call_returns, %rcx; mov 8*number(%rcx), %rcx; movl $number, user_call_number; jmp user_call; and
// the displaced instructions
void write_stub(unsigned number, const DisplacedInstructions& displaced) {
    std::uint8_t* const stub = user_call_stubs[number];
    std::uint8_t* to = put(put(stub, 0x250c8b48, 4), address_of(&user_call_returns), 4);
    to = put(put(to, 0x898b48, 3), number * sizeof(std::uint64_t), 4);
    to = put(put(put(to, 0x2504c7, 3), address_of(&user_call_number), 4), number, 4);
    put_jump(to, address_of(to), address_of(&user_call));
    put_displaced(
        stub + USER_CALL_TAIL, displaced,
        {.target = address_of(&user_call_target), .return_address = address_of(&user_call_return_address)});
    user_call_slots[slot_index(number)] = address_of(stub);
    user_call_targets[number] = displaced.target;
    user_call_lengths[number] = displaced.bytes;
}

std::uint8_t* guest_page(std::uint64_t frame) {
    return backend::guest_ram() + (frame << page_shift);
}

std::uint64_t machine_frame_of(const Copy& copy) {
    return physical_of(copy.page) >> page_shift;
}

void set_returns(Root& root, unsigned site) {
    const bool is_used = sites[site].is_taken() && !sites[site].is_given_up;
    const std::uint64_t place = is_used ? root.places[sites[site].copy] : nowhere;
    root.returns[site] = place == nowhere ? nowhere : place + sites[site].offset + system_call_bytes;
}

// All processors that are in this root use these from now on.
void use_returns(backend::TableNumber table, std::uint64_t* returns) {
    for (unsigned i = 0; i < backend::processor_count(); ++i) {
        if (loaded_root_of(i) == table) {
            of_processor(i, user_call_returns) = returns;
        }
    }
}

void set_place(Root& root, unsigned copy, std::uint64_t place, shadow::Leaf leaf) {
    root.place_count += (place != nowhere ? 1U : 0U) - (root.places[copy] != nowhere ? 1U : 0U);
    root.places[copy] = place;
    root.leaves[copy] = leaf;
    for (unsigned i = 0; i < site_end; ++i) {
        if (sites[i].copy == copy) {
            set_returns(root, i);
        }
    }
    if (root.place_count == 0) {
        use_returns(root.table, no_returns); // another table may get this root
    }
}

std::span<Root> all_roots() {
    return {roots, most_roots};
}

Root* find_root(backend::TableNumber table) {
    for (Root& root : all_roots()) {
        if (root.place_count != 0 && root.table == table) {
            return &root;
        }
    }
    return nullptr;
}

Root* find_or_take_root(backend::TableNumber table) {
    Root* const found = find_root(table);
    if (found != nullptr) {
        return found;
    }
    for (Root& root : all_roots()) {
        if (root.place_count == 0) {
            root.table = table;
            return &root;
        }
    }
    return nullptr;
}

Copy* find_or_make_copy(std::uint64_t guest_frame) {
    for (Copy& copy : std::span(copies, copy_count)) {
        if (copy.guest_frame == guest_frame) {
            return &copy;
        }
    }
    if (copy_count == most_copies) {
        return nullptr;
    }
    Copy& copy = copies[copy_count++];
    copy.guest_frame = guest_frame;
    std::memcpy(copy.page, guest_page(guest_frame), page_size);
    return &copy;
}

// True: it has become one.
bool add_site(unsigned copy, unsigned offset) {
    if (has_site(std::span(sites, site_end), copy, offset)) {
        return true;
    }
    std::uint8_t* const page = copies[copy].page;
    const DisplacedInstructions displaced = displaced_at({page, page_size}, offset);
    const unsigned number = free_number(sites, displaced, address_of(user_call_slots));
    if (displaced.count == 0 || number == most_sites) {
        return false;
    }
    backend::gather_processors(); // they may execute the copy
    sites[number] = {.copy = static_cast<std::uint16_t>(copy),
                     .offset = static_cast<std::uint16_t>(offset),
                     .jumps_behind = 0,
                     .is_given_up = false,
                     .displaced = displaced};
    site_end = std::max(site_end, number + 1);
    write_stub(number, displaced);
    put_user_call_jump(page + offset, slot_address(address_of(user_call_slots), number));
    ++counters.system_calls_rewritten;
    for (Root& root : all_roots()) {
        set_returns(root, number);
    }
    return true;
}

void replacement_left(std::uint64_t machine_frame, shadow::Leaf leaf) {
    for (unsigned i = 0; i < copy_count; ++i) {
        if (machine_frame_of(copies[i]) != machine_frame) {
            continue;
        }
        backend::gather_processors(); // they may execute the copy so far
        for (Root& root : all_roots()) {
            if (root.places[i] != nowhere && root.leaves[i] == leaf) {
                set_place(root, i, nowhere, {});
            }
        }
    }
}

std::uint64_t replacement_ended(std::uint64_t guest_frame) {
    for (Copy& copy : std::span(copies, copy_count)) {
        if (copy.guest_frame == guest_frame) {
            copy.guest_frame = nowhere;
            return machine_frame_of(copy);
        }
    }
    stop_guest("a page whose copy was executed is not replaced:", guest_frame);
}

void give_up(unsigned number) {
    const Copy& copy = copies[sites[number].copy];
    backend::gather_processors();
    sites[number].give_up(copy.page, guest_page(copy.guest_frame));
    for (Root& root : all_roots()) {
        set_returns(root, number);
    }
}

void rewrite(Root& root, std::uint64_t place, unsigned offset) {
    const auto executed = static_cast<unsigned>(std::ranges::find(root.places, place) - root.places);
    if (executed != most_copies) {
        add_site(executed, offset);
        return;
    }
    const std::optional<ExecutedPage> page = shadow_executed_page(place);
    if (!page || displaced_at({guest_page(page->guest_frame), page_size}, offset).count == 0) {
        return;
    }
    Copy* const copy = find_or_make_copy(page->guest_frame);
    const auto number = static_cast<unsigned>(copy - copies);
    if (copy == nullptr || root.places[number] != nowhere || !add_site(number, offset)) {
        return; // a stub has one address in a root
    }
    set_place(root, number, place, page->leaf);
    use_returns(root.table, root.returns);
    shadow_replace(*page, place, machine_frame_of(*copy));
}

} // namespace

void start_user_calls() {
    std::uint8_t* const pages = take_memory(std::uint64_t{most_copies} * page_size);
    for (unsigned i = 0; i < most_copies; ++i) {
        copies[i] = {.guest_frame = nowhere, .page = pages + (std::uint64_t{i} * page_size)};
    }
    roots = reinterpret_cast<Root*>(take_memory(most_roots * sizeof(Root)));
    for (Root& root : all_roots()) {
        std::ranges::fill(root.places, nowhere);
        std::ranges::fill(root.returns, nowhere);
    }
    std::ranges::fill(no_returns, nowhere);
    user_call_returns = no_returns;
    shadow_start_replacements({.left = replacement_left, .ended = replacement_ended});
}

void follow_user_call_root(backend::TableNumber table) {
    Root* const root = find_root(table);
    user_call_returns = root != nullptr ? root->returns : no_returns;
}

bool resolve_user_call(std::uint64_t address) {
    for (unsigned i = 0; i < site_end; ++i) {
        if (sites[i].covers(address, user_call_returns[i])) {
            if (++sites[i].jumps_behind == most_jumps_behind) {
                give_up(i);
            }
            return true;
        }
    }
    return false;
}

void note_user_call(std::uint64_t next) {
    const std::uint64_t address = next - system_call_bytes;
    const auto offset = static_cast<unsigned>(address & (page_size - 1));
    if (system_calls_to_sample != 0) {
        return;
    }
    system_calls_to_sample = sampled_of;
    if (handover.rewrites_user_calls == 0 || address >= user_end) {
        return;
    }
    Root* const root = find_or_take_root(loaded_root());
    if (root != nullptr) {
        rewrite(*root, address - offset, offset);
    }
}

} // namespace previrt::kvm

namespace previrt {

using namespace kvm;

std::uint64_t address_seen(std::uint64_t address) {
    const std::uint64_t offset = address - address_of(user_call_stubs);
    if (offset >= sizeof(user_call_stubs)) {
        return address;
    }
    const std::uint64_t number = offset / stub_bytes;
    const std::uint64_t behind = user_call_returns[number];
    const std::uint64_t in_stub = offset % stub_bytes;
    if (in_stub < USER_CALL_TAIL) {
        return behind - system_call_bytes;
    }
    return behind + static_cast<std::uint64_t>(sites[number].displaced.seen_at(in_stub - USER_CALL_TAIL));
}

std::uint64_t address_executed(std::uint64_t address) {
    for (unsigned i = 0; i < site_end; ++i) {
        if (sites[i].covers(address, user_call_returns[i])) {
            user_call_target =
                user_call_returns[i] + static_cast<std::uint64_t>(std::int64_t{user_call_targets[i]});
            user_call_return_address = user_call_returns[i] + user_call_lengths[i];
            return address_of(user_call_stubs[i]) + USER_CALL_TAIL + (address - user_call_returns[i]);
        }
    }
    return address;
}

bool is_user_call(std::uint64_t address) {
    return std::ranges::count(std::span(user_call_returns, site_end), address + system_call_bytes) != 0;
}

} // namespace previrt
