// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/vmm/guest_tables.hpp"

#include "frontends/x86/paging/page_table_writes.hpp"
#include "frontends/x86/paging/shadow/replacements.hpp"
#include "frontends/x86/paging/shadow/roots.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "tests/unit/vmm/fake_backend.hpp"
#include "tests/unit/vmm/guest_view.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <utility>

namespace previrt {

namespace {

using fake::Translation;

constexpr std::uint64_t preset = page_present | page_writable | page_accessed | page_dirty;
constexpr std::uint64_t direct_base = 0xffff000000000000 | (std::uint64_t{RandomGuest::direct_slot} << 39U);
constexpr unsigned direct_tables_at = 48; // frames: level 3, level 2, eight of level 1
constexpr unsigned empty_root_at = 60;
constexpr unsigned slots[] = {0, 5, 255, 320, 511};
constexpr unsigned indices[] = {0, 7, 511};
constexpr unsigned directory_indices[] = {0, 7,
                                          510}; // the last is the VMM's: a mapping over it stops the guest

std::uint64_t address_of(unsigned slot, unsigned index3, unsigned index2, unsigned index1) {
    const std::uint64_t low = (std::uint64_t{slot} << 39U) | (std::uint64_t{index3} << 30U) |
                              (std::uint64_t{index2} << 21U) | (std::uint64_t{index1} << 12U);
    return slot < 256 ? low : low | 0xffff000000000000;
}

// A processor may set accessed bits in advance, and the VMM does: on the way to its own place.
std::uint64_t in_advance(std::uint64_t place) {
    return (place / 8) % entries_per_table == entries_per_table - 1 ? std::uint64_t{page_accessed} : 0;
}

// What the back-end knows of replacements: it is told of each that ends.
std::set<std::pair<backend::TableNumber, unsigned>> replaced_leaves;
std::set<std::uint64_t> replaced_frames;
std::uint64_t ended_count;

void replacement_left(std::uint64_t /*machine_frame*/, shadow::Leaf leaf) {
    EXPECT_EQ(replaced_leaves.erase({leaf.table, leaf.index}), 1U);
}

std::uint64_t replacement_ended(std::uint64_t guest_frame) {
    ++ended_count;
    EXPECT_EQ(replaced_frames.erase(guest_frame), 1U);
    return fake::copy_of(guest_frame);
}

} // namespace

RandomGuest::RandomGuest(std::uint32_t seed, Options options)
    : random_(seed), options_(options), tables_(std::size_t{table_frames} * entries_per_table) {
    fake::start(ram_bytes, options.tables);
    enter_long_mode(options.write_protect);
    replaced_leaves.clear();
    replaced_frames.clear();
    ended_count = 0;
    shadow_start_replacements({.left = replacement_left, .ended = replacement_ended});
    make_direct_map();
    std::memcpy(tables_.data(), backend::guest_ram(), tables_.size() * sizeof(tables_[0]));
    roots_ = {1 * page_bytes, 2 * page_bytes, 3 * page_bytes};
    load_root(roots_[0]);
}

void RandomGuest::make_direct_map() const {
    const std::uint64_t level3 = direct_tables_at * page_bytes;
    const std::uint64_t level2 = level3 + page_bytes;
    for (const std::uint64_t root : {1U, 2U, 3U, empty_root_at}) {
        guest_entry((root * page_bytes) + (direct_slot * std::uint64_t{8})) = level3 | preset;
    }
    guest_entry(level3) = level2 | preset;
    for (std::uint64_t i = 0; i < ram_bytes / large_page_bytes; ++i) {
        const std::uint64_t level1 = level2 + page_bytes + (i * page_bytes);
        guest_entry(level2 + (i * 8)) =
            options_.large_direct_map ? (i * large_page_bytes) | preset | page_large : level1 | preset;
        for (std::uint64_t page = 0; page < entries_per_table; ++page) {
            guest_entry(level1 + (page * 8)) = (i * large_page_bytes) | (page * page_bytes) | preset;
        }
    }
}

std::uint64_t RandomGuest::random_address() {
    return address_of(slots[below(5)], indices[below(3)], directory_indices[below(3)], indices[below(3)]) +
           below(4096);
}

// Frames 1-3 are roots, then 4 of level 3, 6 of level 2, 10 of level 1.
std::uint64_t RandomGuest::random_table(unsigned level) {
    if (options_.any_level && chance(30)) {
        return (1 + below(23)) * page_bytes;
    }
    switch (level) {
    case 4:
        return (1 + below(3)) * page_bytes;
    case 3:
        return (4 + below(4)) * page_bytes;
    case 2:
        return (8 + below(6)) * page_bytes;
    default:
        return (14 + below(10)) * page_bytes;
    }
}

std::uint64_t RandomGuest::random_flags() {
    std::uint64_t flags = chance(88) ? std::uint64_t{page_present} : 0;
    flags |= chance(75) ? std::uint64_t{page_writable} : 0;
    flags |= chance(70) ? std::uint64_t{page_user} : 0;
    flags |= chance(70) ? std::uint64_t{page_accessed} : 0;
    flags |= chance(60) ? std::uint64_t{page_dirty} : 0;
    flags |= chance(15) ? std::uint64_t{page_no_execute} : 0;
    flags |= chance(2) ? std::uint64_t{1} << (40 + below(12)) : 0;
    return flags;
}

std::uint64_t RandomGuest::random_entry(unsigned level) {
    if (chance(10)) {
        return 0;
    }
    const bool is_large = level == 2 && chance(20);
    if (level > 1 && !is_large) {
        return random_table(level - 1) | random_flags() | (chance(1) ? std::uint64_t{page_large} : 0);
    }
    const std::uint64_t pages = ram_bytes / page_bytes;
    if (level == 2) {
        const std::uint64_t frame = std::uint64_t{below(8)} * large_page_bytes;
        return frame | random_flags() | page_large | (chance(3) ? std::uint64_t{1} << (13 + below(8)) : 0);
    }
    const std::uint64_t page = chance(20) ? below(table_frames) : below(static_cast<std::uint32_t>(pages));
    return (page * page_bytes) | random_flags() |
           (chance(10) ? std::uint64_t{page_large} : 0); // there it is PAT
}

std::uint64_t RandomGuest::random_place(unsigned level) {
    if (level == 4) {
        return random_table(level) + (slots[below(options_.any_level ? 4 : 5)] * std::uint64_t{8});
    }
    const std::uint64_t index =
        level == 2 || options_.any_level ? directory_indices[below(3)] : indices[below(3)];
    return random_table(level) + (index * 8);
}

void RandomGuest::write_annotated() {
    const unsigned level = 1 + below(4);
    const std::uint64_t place = random_place(level);
    if (!guest_view(direct_base + place, {.write = true}).allowed) {
        return;
    }
    constexpr SiteKind kinds[] = {SiteKind::page_table_write, SiteKind::page_table_exchange,
                                  SiteKind::page_table_compare_exchange, SiteKind::page_table_clear_bit};
    Instruction instruction{};
    instruction.kind = kinds[below(4)];
    instruction.operand_is_memory = true;
    instruction.reg = rcx;
    instruction.effective = direct_base + place;
    instruction.annotation = static_cast<std::uint8_t>(level);
    constexpr std::uint8_t bits[] = {1, 5, 6};
    instruction.immediate = bits[below(3)];
    const std::uint64_t old = guest_entry(place);
    std::uint64_t wanted = random_entry(level);
    vcpu.registers.general[rcx] = wanted;
    vcpu.registers.general[rax] = chance(80) ? old : old + 1;
    if (instruction.kind == SiteKind::page_table_compare_exchange && vcpu.registers.general[rax] != old) {
        wanted = old;
    } else if (instruction.kind == SiteKind::page_table_clear_bit) {
        wanted = old & ~(std::uint64_t{1} << instruction.immediate);
    }
    execute_page_table_access(instruction);
    ASSERT_FALSE(exception_is_raised());
    ASSERT_EQ(guest_entry(place) | in_advance(place), wanted | in_advance(place));
    tables_[place / 8] = wanted;
    if (instruction.kind == SiteKind::page_table_exchange) {
        ASSERT_EQ(vcpu.registers.general[rcx], old);
    }
    stale_ = true;
}

void RandomGuest::write_unannotated(std::uint64_t physical, std::uint64_t entry) {
    backend::flush_entries(); // as at the last return to user mode
    use(direct_base + physical, {.write = true});
    if (!guest_view(direct_base + physical, {.write = true}).allowed) {
        return;
    }
    guest_entry(physical) = entry;
    tables_[physical / 8] = entry;
    stale_ = unannotated_ = true;
}

// A page is freed and becomes another table.
void RandomGuest::clear_table() {
    const std::uint64_t table = random_table(1 + below(3));
    for (std::uint64_t index = 0; index < entries_per_table; ++index) {
        if (guest_entry(table + (index * 8)) != 0 && index != direct_slot) {
            write_unannotated(table + (index * 8), 0);
        }
    }
}

void RandomGuest::load_root(std::uint64_t root) {
    vcpu.cr3 = root;
    load_shadow_root();
    stale_ = unannotated_ = false;
}

void RandomGuest::flush() {
    shadow_flush();
    stale_ = unannotated_ = false;
}

void RandomGuest::replace_page(std::uint64_t address) {
    backend::flush_entries();
    const std::optional<ExecutedPage> page = shadow_executed_page(address);
    if (page) {
        shadow_replace(*page, address, fake::copy_of(page->guest_frame));
        replaced_leaves.emplace(page->leaf.table, page->leaf.index);
        replaced_frames.insert(page->guest_frame);
        ++replacements_;
    }
}

std::uint64_t RandomGuest::replacements_ended() {
    return ended_count;
}

void RandomGuest::use(std::uint64_t address, Access access) {
    const GuestView before = guest_view(address, access);
    const fake::Translated first = fake::access(address, access);
    const auto describe = [&] { return text_of(address, access); };
    if (first.result == Translation::done) {
        ++done_;
        ASSERT_TRUE(stale_ || before.allowed) << describe();
        if (!stale_) {
            ASSERT_EQ(first.physical, before.physical) << describe();
            ASSERT_TRUE(before.accessed && (before.dirty || !access.write)) << describe();
        }
        return;
    }
    backend::flush_entries();
    const ShadowFault fault = shadow_fault(address, access);
    ASSERT_TRUE(agrees(before, fault)) << describe();
    if (fault.verdict == FaultVerdict::guest) {
        ++refused_;
        return;
    }
    const fake::Translated second = fake::access(address, access);
    ASSERT_EQ(second.result, Translation::done) << describe() << ": a second fault";
    ASSERT_EQ(second.physical, before.physical) << describe();
    ++done_;
    for (const std::uint64_t place : before.used()) {
        tables_[place / 8] |= page_accessed;
        ASSERT_EQ(guest_entry(place) | page_dirty, tables_[place / 8] | page_dirty) << describe();
    }
    const std::uint64_t last = before.used().back();
    tables_[last / 8] |= access.write ? std::uint64_t{page_dirty} : 0;
    ASSERT_EQ(guest_entry(last), tables_[last / 8]) << describe();
}

// Of the guest's tables, only the bits of walks have changed.
void RandomGuest::check_tables() const {
    const std::size_t bytes = tables_.size() * sizeof(tables_[0]);
    if (std::memcmp(tables_.data(), backend::guest_ram(), bytes) == 0) {
        return;
    }
    for (std::size_t place = 0; place < bytes; place += 8) {
        ASSERT_EQ(guest_entry(place) | in_advance(place), tables_[place / 8] | in_advance(place))
            << "entry " << (place / 8) % entries_per_table << " of frame " << place / page_bytes;
    }
}

void RandomGuest::check_address(std::uint64_t address) {
    for (const Access access : {Access{}, Access{.write = true}, Access{.fetch = true}, Access{.user = true},
                                Access{.write = true, .user = true}, Access{.user = true, .fetch = true}}) {
        const fake::Translated found = fake::look(address, access);
        if (found.result == Translation::done) {
            const GuestView view = guest_view(address, access);
            ASSERT_TRUE(view.allowed) << std::hex << address << " write " << access.write << " user "
                                      << access.user << " fetch " << access.fetch;
            ASSERT_EQ(found.physical, view.physical) << std::hex << address;
            ASSERT_TRUE(view.accessed && (view.dirty || !access.write)) << std::hex << address;
        }
    }
}

void RandomGuest::check() const {
    check_tables();
    backend::flush_entries();
    for (const unsigned slot : slots) {
        for (const unsigned index3 : indices) {
            for (const unsigned index2 : directory_indices) {
                for (const unsigned index1 : indices) {
                    ASSERT_NO_FATAL_FAILURE(check_address(address_of(slot, index3, index2, index1)));
                }
            }
        }
    }
    const auto leaves = fake::leaves_of_copies();
    ASSERT_EQ((std::set<std::pair<backend::TableNumber, unsigned>>(leaves.begin(), leaves.end())),
              replaced_leaves);
    for (const std::uint64_t frame : fake::writable_frames()) {
        ASSERT_TRUE(frame < ram_bytes / page_bytes);
        ASSERT_FALSE(shadow::frames[frame].replaced) << "frame " << frame << " has a copy and may be written";
        ASSERT_FALSE(shadow::frames[frame].tables != shadow::no_table &&
                     !shadow::frames[frame].unsynchronized)
            << "a live table may be written: frame " << frame;
    }
}

void RandomGuest::step() {
    constexpr unsigned tries = 20; // few addresses are mapped, and most of those writable
    for (unsigned i = 0; options_.replaces_pages && i < tries; ++i) {
        replace_page(random_address());
    }
    if (!replaced_frames.empty() && chance(2)) {
        use(direct_base + (*replaced_frames.begin() * page_bytes), {.write = true});
    }
    const unsigned what = below(100);
    if (what < 45) {
        use(random_address(), {.write = chance(40), .user = chance(50), .fetch = false});
    } else if (what < 52) {
        use(random_address(), {.user = chance(50), .fetch = true});
    } else if (what < 72) {
        write_annotated();
    } else if (what < 82) {
        const unsigned level = 1 + below(4);
        write_unannotated(random_place(level), random_entry(level));
    } else if (what < 84) {
        clear_table();
    } else if (what < 90) {
        flush();
    } else if (what < 95) {
        shadow_invalidate(random_address());
    } else if (what < 98 || !options_.toggles) {
        load_root(options_.any_level ? random_table(4) : roots_[below(3)]);
    } else {
        if (chance(50)) {
            vcpu.cr0 ^= cr0_wp;
        } else {
            vcpu.efer ^= efer_nxe;
        }
        shadow_rebuild();
        flush();
    }
    if (testing::Test::HasFatalFailure()) {
        return;
    }
    if (!stale_ && chance(1)) {
        check();
        fake::check_tables();
    } else if (!unannotated_) {
        backend::flush_entries();
        check_address(random_address());
    }
}

void RandomGuest::end() {
    load_root(empty_root_at * page_bytes);
    shadow::drop_other_roots();
    shadow_rebuild();
    // Now the direct map is the root's.
    guest_entry((empty_root_at * page_bytes) + (direct_slot * std::uint64_t{8})) = 0;
    shadow_rebuild();
    shadow::free_buried_tables();
    EXPECT_EQ(shadow::free_table_count(), backend::table_count() - 2);
    EXPECT_EQ(fake::published_count(), 2U);
    for (std::uint64_t frame = 0; frame < shadow::frame_count; ++frame) {
        EXPECT_EQ(shadow::frames[frame].writers, 0U) << frame;
        EXPECT_EQ(shadow::frames[frame].tables != shadow::no_table, frame == empty_root_at) << frame;
    }
}

} // namespace previrt
