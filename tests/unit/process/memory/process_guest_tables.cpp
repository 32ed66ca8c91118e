// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/process/memory/process_guest.hpp"

#include "frontends/x86/paging/page_table_writes.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <gtest/gtest.h>
#include <iterator>

namespace previrt {

namespace {

constexpr std::uint64_t preset = page_present | page_writable | page_accessed | page_dirty;
constexpr unsigned user_slots[] = {0, 5, 253};
constexpr unsigned kernel_slot = 255;
constexpr unsigned upper_indices[] = {0, 7, 511};     // of level 3
constexpr unsigned directory_indices[] = {0, 7, 510}; // of level 2
constexpr unsigned ways = 3;                          // as many as each of these
constexpr unsigned first_indices = 20;                // of level 1, and the last one
constexpr unsigned modules_upper = 1;
constexpr unsigned modules_directory = 510;
static_assert(ProcessGuest::module_address ==
              (std::uint64_t{modules_upper} << 30U) + (std::uint64_t{modules_directory} << 21U));

// Frames of tables. Each user root has a table for each of its ways, so that none need be shared.
constexpr std::uint64_t modules_tables = 6; // levels 3, 2, 1
constexpr std::uint64_t kernel_upper = 9;   // then three of level 2, and nine of level 1
constexpr std::uint64_t direct_tables = 22; // levels 3 and 2, then eight of level 1
constexpr std::uint64_t user_tables = 64;
constexpr std::uint64_t tables_of_a_root = ways + (ways * ways) + (ways * ways * ways);
static_assert(user_tables + ((ProcessGuest::root_count - 1) * tables_of_a_root) <=
              ProcessGuest::table_frames);

std::uint64_t address_of(unsigned slot, unsigned index3, unsigned index2, unsigned index1) {
    return (std::uint64_t{slot} << 39U) | (std::uint64_t{index3} << 30U) | (std::uint64_t{index2} << 21U) |
           (std::uint64_t{index1} << 12U);
}

// Of a user root, by the ways that lead there.
std::uint64_t table_of(std::uint64_t root, unsigned level, std::uint64_t slot, std::uint64_t upper,
                       std::uint64_t directory) {
    const std::uint64_t first = user_tables + ((root - 1) * tables_of_a_root);
    switch (level) {
    case 3:
        return first + slot;
    case 2:
        return first + ways + (slot * ways) + upper;
    default:
        return first + ways + (std::uint64_t{ways} * ways) + (((slot * ways) + upper) * ways) + directory;
    }
}

} // namespace

void ProcessGuest::set(std::uint64_t frame, unsigned index, std::uint64_t entry) {
    guest_entry((frame * page_bytes) + (index * std::uint64_t{8})) = entry;
    tables_[(frame * entries_per_table) + index] = entry;
}

void ProcessGuest::make_tables() {
    const auto link = [](std::uint64_t frame) { return (frame * page_bytes) | preset; };
    for (unsigned root = 1; root <= root_count; ++root) {
        set(root, process::ram_slot, link(direct_tables));
        set(root, kernel_slot, link(kernel_upper));
    }
    set(direct_tables, 0, link(direct_tables + 1));
    for (unsigned i = 0; i < ram_bytes / large_page_bytes; ++i) {
        set(direct_tables + 1, i, link(direct_tables + 2 + i));
        for (unsigned page = 0; page < entries_per_table; ++page) {
            set(direct_tables + 2 + i, page, link((std::uint64_t{i} * entries_per_table) + page));
        }
    }
    set(1, 0, link(modules_tables));
    set(modules_tables, modules_upper, link(modules_tables + 1));
    set(modules_tables + 1, modules_directory, link(modules_tables + 2));
    set(modules_tables + 2, 0, link(table_frames));
    // The rest begins with all of its tables.
    for (unsigned slot = 0; slot < ways; ++slot) {
        for (unsigned upper = 0; upper < ways; ++upper) {
            for (unsigned directory = 0; directory < ways; ++directory) {
                for (unsigned level = 4; level > 1; --level) {
                    for (unsigned root = 0; root < root_count; ++root) {
                        const Place place = root == 0 ? kernel_place(level, upper, directory, 0)
                                                      : user_place(root, level, slot, upper, directory, 0);
                        if (place.child != 0) {
                            set(place.table, place.index,
                                link(place.child) |
                                    (root == 0 ? std::uint64_t{0} : std::uint64_t{page_user}));
                        }
                    }
                }
            }
        }
    }
}

ProcessGuest::Place ProcessGuest::kernel_place(unsigned level, unsigned upper, unsigned directory,
                                               unsigned index1) {
    const std::uint64_t level2 = kernel_upper + 1 + upper;
    const std::uint64_t level1 = kernel_upper + 1 + ways + (std::uint64_t{upper} * ways) + directory;
    const std::uint64_t tables[] = {0, level1, level2, kernel_upper};
    const unsigned indices[] = {0, index1, directory_indices[directory], upper_indices[upper]};
    if (level > 3) {
        return {};
    }
    return {.table = tables[level],
            .index = indices[level],
            .level = level,
            .child = tables[level - 1],
            .is_kernels = true};
}

ProcessGuest::Place ProcessGuest::user_place(unsigned root, unsigned level, unsigned slot, unsigned upper,
                                             unsigned directory, unsigned index1) {
    const unsigned indices[] = {0, index1, directory_indices[directory], upper_indices[upper],
                                user_slots[slot]};
    return {.table = level == 4 ? root + 1 : table_of(root, level, slot, upper, directory),
            .index = indices[level],
            .level = level,
            .child = level == 1 ? 0 : table_of(root, level - 1, slot, upper, directory),
            .is_kernels = false};
}

std::uint64_t ProcessGuest::random_address() {
    const unsigned index1 = chance(10) ? entries_per_table - 1 : below(first_indices);
    const std::uint64_t offset = below(4096);
    if (chance(8)) {
        return address_of(0, modules_upper, modules_directory, index1) + offset;
    }
    const unsigned slot = chance(25) ? kernel_slot : user_slots[below(ways)];
    return address_of(slot, upper_indices[below(ways)], directory_indices[below(ways)], index1) + offset;
}

ProcessGuest::Place ProcessGuest::random_place() {
    const unsigned kind = below(100);
    const unsigned level = 1U + (kind < 12 ? 1U : 0U) + (kind < 6 ? 1U : 0U) + (kind < 2 ? 1U : 0U);
    const unsigned index1 = chance(10) ? entries_per_table - 1 : below(first_indices);
    if (level == 1 && chance(10)) {
        return {.table = modules_tables + 2, .index = index1, .level = 1, .child = 0, .is_kernels = true};
    }
    const unsigned slot = below(ways);
    const unsigned upper = below(ways);
    const unsigned directory = below(ways);
    if (level < 4 && chance(25)) {
        return kernel_place(level, upper, directory, index1);
    }
    const auto current = static_cast<unsigned>((vcpu.cr3 / page_bytes) - 1);
    const unsigned root = current != 0 && chance(60) ? current : 1 + below(root_count - 1);
    return user_place(root, level, slot, upper, directory, index1);
}

std::uint64_t ProcessGuest::random_flags(const Place& place) {
    if (place.level > 1 && !options_.restricts_above) {
        return (chance(95) ? std::uint64_t{page_present} : 0) | page_writable | page_dirty |
               (place.is_kernels && chance(50) ? 0 : std::uint64_t{page_user}) |
               (chance(90) ? std::uint64_t{page_accessed} : 0);
    }
    std::uint64_t flags = chance(90) ? std::uint64_t{page_present} : 0;
    flags |= chance(70) ? std::uint64_t{page_writable} : 0;
    flags |= chance(place.is_kernels ? 10 : 90) ? std::uint64_t{page_user} : 0;
    flags |= chance(75) ? std::uint64_t{page_accessed} : 0;
    flags |= chance(60) ? std::uint64_t{page_dirty} : 0;
    flags |= chance(30) ? std::uint64_t{page_no_execute} : 0;
    flags |= chance(1) ? std::uint64_t{1} << (40 + below(12)) : 0;
    return flags;
}

std::uint64_t ProcessGuest::random_entry(const Place& place) {
    if (chance(10)) {
        return 0;
    }
    const bool is_large = place.level == 2 && chance(15);
    if (place.level > 1 && !is_large) {
        const bool is_other = options_.shares_tables && !place.is_kernels && chance(30);
        const std::uint64_t child = is_other ? table_of(1 + below(root_count - 1), place.level - 1,
                                                        below(ways), below(ways), below(ways))
                                             : place.child;
        return (child * page_bytes) | random_flags(place);
    }
    if (is_large) {
        return (std::uint64_t{below(8)} * large_page_bytes) | random_flags(place) | page_large;
    }
    // Some of few frames, so that several entries name one.
    constexpr unsigned few = 40;
    // No module's page is a table: a write to the kernel's own root, by an address of that root alone, would
    // not end.
    const bool may_be_table = place.table != modules_tables + 2;
    const std::uint64_t first = may_be_table && chance(10) ? 0 : table_frames;
    const std::uint64_t page =
        first + below(chance(50) ? few : static_cast<std::uint32_t>(frame_count - first));
    return (page * page_bytes) | random_flags(place);
}

void ProcessGuest::write_annotated(const Place& place, std::uint64_t entry) {
    constexpr SiteKind kinds[] = {SiteKind::page_table_write, SiteKind::page_table_write,
                                  SiteKind::page_table_exchange, SiteKind::page_table_compare_exchange,
                                  SiteKind::page_table_clear_bit};
    Instruction instruction{};
    instruction.kind = kinds[below(std::size(kinds))];
    instruction.operand_is_memory = true;
    instruction.reg = rcx;
    const std::uint64_t physical = (place.table * page_bytes) + (place.index * std::uint64_t{8});
    instruction.effective = process::ram_address + physical;
    instruction.annotation = static_cast<std::uint8_t>(place.level);
    constexpr std::uint8_t bits[] = {1, 5, 6};
    instruction.immediate = bits[below(std::size(bits))];
    const std::uint64_t old = guest_entry(physical);
    vcpu.registers.general[rcx] = entry;
    vcpu.registers.general[rax] = old;
    const std::uint64_t wanted = instruction.kind == SiteKind::page_table_clear_bit
                                     ? old & ~(std::uint64_t{1} << instruction.immediate)
                                     : entry;
    execute_page_table_access(instruction);
    ASSERT_FALSE(exception_is_raised());
    ASSERT_EQ(guest_entry(physical), wanted);
    tables_[physical / 8] = wanted;
    stale_.assign(stale_.size(), true);
}

// Neighbours name neighbours, as those of a file or of a large allocation do.
void ProcessGuest::write_some() {
    Place place = random_place();
    const std::uint64_t first = random_entry(place);
    const unsigned wanted = place.level == 1 && chance(60) ? 1 + below(8) : 1;
    const bool changes_rights = place.level == 1 && chance(40);
    const std::uint64_t rights = random_flags(place);
    for (unsigned i = 0; i < wanted && place.index < entries_per_table; ++i, ++place.index) {
        const std::uint64_t old = tables_[(place.table * entries_per_table) + place.index];
        std::uint64_t entry = first == 0 ? 0 : first + (i * page_bytes);
        if (changes_rights) {
            entry = (old & frame_mask) | rights;
        }
        if (place.level == 1 && frame_of(entry) >= frame_count) {
            return;
        }
        write_annotated(place, entry);
    }
}

// By a mapping of the table's page, where the shadow protects it. The map of all RAM is not protected.
void ProcessGuest::write_unannotated() {
    const std::uint64_t address = random_address() & ~std::uint64_t{7};
    const Access access{.write = true};
    const std::uint64_t frame = process_view(address, access).physical >> page_shift;
    const bool is_table = frame >= user_tables && frame < table_frames;
    if (!is_table || !process_view(address, access).allowed) {
        return;
    }
    use(address, access);
    const std::uint64_t physical = process_view(address, access).physical;
    const unsigned index = (physical / 8) % entries_per_table;
    if (testing::Test::HasFatalFailure() || !process_view(address, access).allowed || index > first_indices) {
        return;
    }
    if (chance(70)) {
        const std::uint64_t way = (frame - user_tables) % tables_of_a_root;
        if (way >= ways + (ways * ways)) { // of level 1
            set(frame, index,
                random_entry({.table = frame, .index = index, .level = 1, .child = 0, .is_kernels = false}));
        }
    } else {
        set(frame, index, 0);
    }
    stale_.assign(stale_.size(), true);
}

} // namespace previrt
