// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/process/memory/process_guest.hpp"

#include "backends/process/host_calls.hpp"
#include "backends/process/user_mode/calls.hpp"
#include "frontends/x86/paging/shadow/pool.hpp"
#include "frontends/x86/paging/shadow/protection.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

namespace previrt {

namespace {

std::vector<std::uint64_t> executed;

const std::vector<std::uint64_t>& executed_frames() {
    executed.clear();
    process::for_each_executed_frame(
        [](std::uint64_t frame) { executed.push_back(backend::guest_frame_of(frame)); });
    return executed;
}

bool is_modules(std::uint64_t address) {
    return address >= process::modules_address && address < process::modules_end;
}

} // namespace

GuestView process_view(std::uint64_t address, Access access) {
    return guest_view_from(is_modules(address) ? page_bytes : vcpu.cr3, address, access);
}

bool is_executed_copy(const fake::HostProcess::Page& page, std::uint64_t frame) {
    if ((page.protection & process::may_write) != 0 || frame >= ProcessGuest::frame_count ||
        std::ranges::count(executed_frames(), frame) == 0) {
        return false;
    }
    const std::uint8_t* const copy = fake::vmm_page(page.offset);
    const std::uint8_t* const original = backend::guest_ram() + (frame * page_bytes);
    constexpr unsigned behind = call_offset + rewritten_bytes;
    return std::memcmp(copy, original, call_offset) == 0 &&
           std::memcmp(copy + behind, original + behind, page_bytes - behind) == 0;
}

void ProcessGuest::check_page(std::uint64_t address, const fake::HostProcess::Page& page, bool by_user) {
    const GuestView view = process_view(address, {.user = by_user});
    ASSERT_TRUE(view.allowed) << std::hex << address << " is mapped, root " << vcpu.cr3;
    ASSERT_TRUE(view.accessed) << std::hex << address;
    const std::uint64_t frame = view.physical >> page_shift;
    if (page.offset < fake::offset_of_frame(0)) {
        ASSERT_TRUE(is_executed_copy(page, frame)) << std::hex << address << " executes frame " << frame;
    } else {
        ASSERT_EQ(page.offset, fake::offset_of_frame(frame)) << std::hex << address;
    }
    if ((page.protection & process::may_write) != 0) {
        const shadow::Frame& state = shadow::frames[frame];
        ASSERT_TRUE(process_view(address, {.write = true, .user = by_user}).allowed)
            << std::hex << address << " may be written";
        ASSERT_TRUE(view.dirty) << std::hex << address;
        ASSERT_FALSE(state.tables != shadow::no_table && !state.unsynchronized)
            << std::hex << address << " maps a live table writable: frame " << frame;
        ASSERT_EQ(std::ranges::count(executed, frame), 0)
            << std::hex << address << " maps executed code writable: frame " << frame;
    }
    if ((page.protection & process::may_execute) != 0) {
        ASSERT_TRUE(process_view(address, {.user = by_user, .fetch = true}).allowed)
            << std::hex << address << " may be executed";
    }
}

void ProcessGuest::check_process(const fake::HostProcess& process, bool by_user) {
    for (const auto& [start, range] : process.ranges()) {
        if (start >= process::ram_address && start < process::arena_address) {
            continue;
        }
        for (std::uint64_t address = start; address < range.end; address += page_bytes) {
            check_page(address, {.offset = range.offset + (address - start), .protection = range.protection},
                       by_user);
            if (testing::Test::HasFatalFailure()) {
                return;
            }
        }
    }
}

// The kernel's map of all RAM is always there, and writable but for executed code.
void ProcessGuest::check_ram() {
    std::uint64_t address = process::ram_address;
    for (const auto& [start, range] : fake::current_process().ranges()) {
        if (start < process::ram_address || start >= process::arena_address) {
            continue;
        }
        ASSERT_EQ(start, address) << "a hole in the map of RAM";
        ASSERT_EQ(range.offset, fake::offset_of_frame((start - process::ram_address) >> page_shift));
        for (; address < range.end; address += page_bytes) {
            const bool is_writable = (range.protection & process::may_write) != 0;
            const std::uint64_t frame = (address - process::ram_address) >> page_shift;
            ASSERT_EQ(is_writable, std::ranges::count(executed, frame) == 0) << "frame " << frame;
        }
    }
    ASSERT_EQ(address, process::ram_address + ram_bytes);
}

namespace {

void add_writable_tables(const fake::HostProcess& process, std::set<std::uint64_t>& found) {
    for (const auto& [start, range] : process.ranges()) {
        const bool is_writable = (range.protection & process::may_write) != 0;
        if (!is_writable || (start >= process::ram_address && start < process::arena_address)) {
            continue;
        }
        for (std::uint64_t address = start; address < range.end; address += page_bytes) {
            const std::uint64_t frame =
                (range.offset + (address - start) - fake::offset_of_frame(0)) >> page_shift;
            if (frame < ProcessGuest::table_frames && shadow::is_protected(frame)) {
                found.insert(address);
            }
        }
    }
}

} // namespace

// Addresses at which the present processor's kernel, and its program, may write to a live table.
ProcessGuest::WritableTables ProcessGuest::writable_tables() const {
    WritableTables found;
    add_writable_tables(fake::current_process(), found.by_kernel);
    if (options_.place.isolates) {
        add_writable_tables(fake::running_user_process(), found.by_user);
    }
    return found;
}

void ProcessGuest::check_tables() const {
    if (std::memcmp(tables_.data(), backend::guest_ram(), tables_.size() * sizeof(tables_[0])) == 0) {
        return;
    }
    for (std::size_t i = 0; i < tables_.size(); ++i) {
        ASSERT_EQ(guest_entry(i * 8), tables_[i])
            << "entry " << i % entries_per_table << " of frame " << i / entries_per_table;
    }
}

void ProcessGuest::check() {
    (void)executed_frames();
    check_ram();
    check_tables();
    check_process(fake::current_process(), false);
    if (options_.place.isolates) {
        check_process(fake::user_process(), true);
    }
}

} // namespace previrt
