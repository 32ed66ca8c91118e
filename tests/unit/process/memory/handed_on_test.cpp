// SPDX-License-Identifier: BSD-2-Clause
// A host process is handed on to another address space of the guest. The tables of the former one live on,
// and change.
#include "backends/process/address_space_processes.hpp"
#include "backends/process/contract/layout.hpp"
#include "backends/process/host_calls.hpp"
#include "backends/process/host_changes.hpp"
#include "backends/process/host_map.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "tests/unit/process/memory/fake_domain.hpp"
#include "tests/unit/process/memory/own_process.hpp"
#include "tests/unit/vmm/fake_backend.hpp"

#include <cstdint>
#include <gtest/gtest.h>

namespace previrt {

namespace {

using backend::TableNumber;
using process::Filled;

constexpr std::uint64_t ram_bytes = std::uint64_t{16} << 20U;
constexpr std::uint32_t pool = 40;
constexpr std::uint64_t address = (std::uint64_t{5} << 39U) + (9 * page_bytes);

// An address space with one page, whose tables are four in turn.
struct Space {
    TableNumber root;
    std::uint64_t frame;

    void make() const {
        for (unsigned level = root_level; level > 1; --level) {
            const TableNumber table = root + root_level - level;
            backend::table_entries(table)[table_index(address, level)] =
                (backend::table_machine_frame(table + 1) << page_shift) | page_present | page_writable |
                page_user | page_accessed;
        }
        backend::table_entries(leaf())[table_index(address, 1)] = entry();
    }
    [[nodiscard]] TableNumber leaf() const { return root + root_level - 1; }
    [[nodiscard]] std::uint64_t entry() const {
        return (backend::machine_frame(frame) << page_shift) | page_present | page_user | page_no_execute;
    }
    void change(std::uint64_t changed) const {
        backend::write_entry(leaf(), table_index(address, 1), changed);
        process::follow_changes();
    }
    void enter() const { process::enter_host_of(root, root); }
    // As a fault of the guest's programs.
    [[nodiscard]] Filled use(bool write) const {
        return process::fill_user(root, address, {.write = write, .fetch = false});
    }
};

void expect_mapped(bool isolates, const Space& space, std::uint32_t protection) {
    const auto page = (isolates ? fake::user_process() : fake::current_process()).page(address);
    ASSERT_TRUE(page.has_value());
    EXPECT_EQ(page->offset, fake::offset_of_frame(space.frame));
    EXPECT_EQ(page->protection, protection);
}

void check_handed_on(bool isolates) {
    fake::choose_process_place({.most_hosts = 2, .isolates = isolates});
    fake::start(ram_bytes, pool);
    const Space former{.root = 0, .frame = 100};
    const Space other{.root = 10, .frame = 200};
    const Space next{.root = 20, .frame = 300};
    for (const Space& space : {former, other, next}) {
        space.make();
    }
    former.enter();
    const unsigned handed_on = process::number_of(process::current_host());
    EXPECT_EQ(former.use(false), Filled::done);
    other.enter();
    EXPECT_EQ(other.use(false), Filled::done);
    next.enter();
    ASSERT_EQ(process::number_of(process::current_host()), handed_on);
    EXPECT_EQ(next.use(false), Filled::done);
    expect_mapped(isolates, next, process::may_read);
    // The former address space gets a right, and loses its page.
    former.change(former.entry() | page_writable | page_dirty);
    expect_mapped(isolates, next, process::may_read);
    former.change(0);
    expect_mapped(isolates, next, process::may_read);
    // The present one's changes are followed.
    next.change(next.entry() | page_writable | page_dirty);
    expect_mapped(isolates, next, process::may_read | process::may_write);
    next.change(0);
    EXPECT_FALSE((isolates ? fake::user_process() : fake::current_process()).page(address).has_value());
    // The former one's, when it has a process again.
    former.change(former.entry());
    former.enter();
    ASSERT_NE(process::number_of(process::current_host()), handed_on);
    EXPECT_EQ(former.use(false), Filled::done);
    expect_mapped(isolates, former, process::may_read);
    former.change(former.entry() | page_writable | page_dirty);
    expect_mapped(isolates, former, process::may_read | process::may_write);
}

TEST(HandedOn, FormerTablesChangeNothing) {
    EXPECT_EQ(in_own_process([] { check_handed_on(false); }), 0);
}

TEST(HandedOn, FormerTablesChangeNothingForIsolatedUserMode) {
    EXPECT_EQ(in_own_process([] { check_handed_on(true); }), 0);
}

} // namespace

} // namespace previrt
