// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/paging/guest_memory.hpp"

#include "frontends/x86/devices/device_memory.hpp"
#include "frontends/x86/paging/page_walk.hpp"
#include "frontends/x86/paging/written_memory.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace previrt {

namespace {

void read_page(std::uint64_t physical, void* to, std::size_t bytes) {
    if (const std::uint8_t* const memory = physical_memory(physical, bytes)) {
        std::memcpy(to, memory, bytes);
    } else {
        read_device(physical, to, bytes);
    }
}

void write_page(std::uint64_t physical, const void* from, std::size_t bytes) {
    if (std::uint8_t* const memory = physical_memory(physical, bytes)) {
        std::memcpy(memory, from, bytes);
    } else {
        write_device(physical, from, bytes);
    }
}

// Walks both pages before any byte moves.
bool prepare(std::uint64_t address, std::size_t bytes, Access access, PageWalk (&walks)[2]) {
    const std::size_t first = bytes_in_page(address, bytes);
    for (unsigned part = 0; part < (first < bytes ? 2U : 1U); ++part) {
        const std::uint64_t where = part == 0 ? address : address + first;
        if (!is_canonical(where)) {
            raise_exception(general_protection, 0);
            return false;
        }
        walks[part] = walk_page(where, access);
        if (walks[part].faults) {
            raise_page_fault(where, walks[part].error_code);
            return false;
        }
    }
    return true;
}

// Pages that a supervisor may read, and may write if their dirty bit is set.
struct Translation {
    std::uint64_t key; // see key_of()
    std::uint64_t physical;
    bool may_write;
};
using Translations = std::array<Translation, 64>;
[[gnu::section(".bss.cache")]] Translations translations;
// Of annotated accesses to page tables. The few pages that every exception reads must not compete with them.
[[gnu::section(".bss.cache")]] Translations table_translations;

// The bits above a page's number. A new generation forgets all translations. 0 stands for none.
constexpr std::uint64_t one_generation = std::uint64_t{1} << (64 - page_shift);
[[gnu::section(".data.cache")]] std::uint64_t generation = one_generation;

std::uint64_t key_of(std::uint64_t address) {
    return generation | (address >> page_shift);
}

// One bit for each table that the walk of a translation went through. Several tables share a bit.
constexpr std::size_t word_bits = 64;
[[gnu::section(".bss.cache")]] std::uint64_t walked_tables[4];

std::uint64_t& walked_word(std::uint64_t frame) {
    return walked_tables[frame / word_bits % std::size(walked_tables)];
}

constexpr std::uint64_t walked_bit(std::uint64_t frame) {
    return std::uint64_t{1} << (frame % word_bits);
}

Translation& translation_of(Translations& kept, std::uint64_t address) {
    return kept[(address >> page_shift) % kept.size()];
}

// nullopt: not cached, or the access crosses a page.
std::optional<std::uint64_t> cached_physical(const Translation& known, std::uint64_t address,
                                             std::size_t bytes, bool write) {
    const std::uint64_t offset = address & (page_bytes - 1);
    const bool hit =
        known.key == key_of(address) && offset + bytes <= page_bytes && (!write || known.may_write);
    return hit ? std::optional(known.physical + offset) : std::nullopt;
}

void remember(Translation& place, std::uint64_t address, const PageWalk& walk, bool write) {
    place = {.key = key_of(address), .physical = walk.physical & ~(page_bytes - 1), .may_write = write};
    for (unsigned level = walk.leaf_level; level <= root_level; ++level) {
        const std::uint64_t frame = walk.entry_address[level] >> page_shift;
        walked_word(frame) |= walked_bit(frame);
    }
}

} // namespace

void forget_translations() {
    generation += one_generation;
    if (generation == 0) {
        translations.fill({});
        table_translations.fill({});
        generation = one_generation;
    }
    std::ranges::fill(walked_tables, 0);
}

void forget_translations_through(std::uint64_t table) {
    const std::uint64_t frame = table >> page_shift;
    if ((walked_word(frame) & walked_bit(frame)) != 0) {
        forget_translations();
    }
}

std::optional<std::uint64_t> find_table_entry(std::uint64_t address) {
    Translation& known = translation_of(table_translations, address);
    if (const std::optional<std::uint64_t> physical =
            cached_physical(known, address, sizeof(std::uint64_t), true)) {
        return physical;
    }
    PageWalk walks[2];
    if (!prepare(address, sizeof(std::uint64_t), {.write = true}, walks)) {
        return {};
    }
    mark_accessed(walks[0], true);
    remember(known, address, walks[0], true);
    return walks[0].physical;
}

bool read_guest(std::uint64_t address, void* to, std::size_t bytes, Privilege privilege) {
    if (privilege == Privilege::supervisor) {
        if (const std::optional<std::uint64_t> physical =
                cached_physical(translation_of(translations, address), address, bytes, false)) {
            read_page(*physical, to, bytes);
            return true;
        }
    }
    PageWalk walks[2];
    if (!prepare(address, bytes, {.user = privilege == Privilege::user}, walks)) {
        return false;
    }
    const std::size_t first = bytes_in_page(address, bytes);
    mark_accessed(walks[0], false);
    if (privilege == Privilege::supervisor) {
        remember(translation_of(translations, address), address, walks[0], false);
    }
    read_page(walks[0].physical, to, first);
    if (first < bytes) {
        mark_accessed(walks[1], false);
        read_page(walks[1].physical, static_cast<std::uint8_t*>(to) + first, bytes - first);
    }
    return true;
}

bool write_guest(std::uint64_t address, const void* from, std::size_t bytes, Privilege privilege) {
    if (privilege == Privilege::supervisor) {
        if (const std::optional<std::uint64_t> physical =
                cached_physical(translation_of(translations, address), address, bytes, true)) {
            before_guest_write(*physical);
            write_page(*physical, from, bytes);
            return true;
        }
    }
    PageWalk walks[2];
    if (!prepare(address, bytes, {.write = true, .user = privilege == Privilege::user}, walks)) {
        return false;
    }
    const std::size_t first = bytes_in_page(address, bytes);
    mark_accessed(walks[0], true);
    before_guest_write(walks[0].physical);
    if (privilege == Privilege::supervisor) {
        remember(translation_of(translations, address), address, walks[0], true);
    }
    write_page(walks[0].physical, from, first);
    if (first < bytes) {
        mark_accessed(walks[1], true);
        before_guest_write(walks[1].physical);
        write_page(walks[1].physical, static_cast<const std::uint8_t*>(from) + first, bytes - first);
    }
    return true;
}

bool may_write_guest(std::uint64_t address, std::size_t bytes, Privilege privilege) {
    PageWalk walks[2];
    return prepare(address, bytes, {.write = true, .user = privilege == Privilege::user}, walks);
}

} // namespace previrt
