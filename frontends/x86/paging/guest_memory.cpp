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

// Nearly all accesses are to a word or to a few: a call of memcpy takes more instructions than they.
void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes % sizeof(std::uint64_t) != 0) {
        std::memcpy(to, from, bytes);
        return;
    }
    for (std::size_t done = 0; done < bytes; done += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        __builtin_memcpy(&word, static_cast<const std::uint8_t*>(from) + done, sizeof(word));
        __builtin_memcpy(static_cast<std::uint8_t*>(to) + done, &word, sizeof(word));
    }
}

void read_page(std::uint64_t physical, void* to, std::size_t bytes) {
    if (const std::uint8_t* const memory = physical_memory(physical, bytes)) {
        copy(to, memory, bytes);
    } else {
        read_device(physical, to, bytes);
    }
}

void write_page(std::uint64_t physical, const void* from, std::size_t bytes) {
    if (std::uint8_t* const memory = physical_memory(physical, bytes)) {
        copy(memory, from, bytes);
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

bool begin_access(std::uint64_t address, std::size_t bytes, Access access, PageWalk (&walks)[2]) {
    const bool crosses = bytes_in_page(address, bytes) < bytes;
    do {
        if (!prepare(address, bytes, access, walks)) {
            return false;
        }
    } while (!mark_accessed(walks[0], access.write) || (crosses && !mark_accessed(walks[1], access.write)));
    return true;
}

// Pages that a supervisor may read, and may write if their dirty bit is set.
struct Translation {
    std::uint64_t key; // see key_of()
    std::uint64_t physical;
    std::uint8_t* memory; // of the page; nullptr: it is no RAM
    bool may_write;
};
using Translations = std::array<Translation, 64>;
[[gnu::section("processor")]] Translations translations;
// Of annotated accesses to page tables. The few pages that every exception reads must not compete with them.
[[gnu::section("processor")]] Translations table_translations;

// The bits above a page's number. A new generation forgets translations: those of global pages have one of
// their own, which a load of CR3 leaves. No two are equal, and 0 stands for none.
constexpr std::uint64_t one_generation = std::uint64_t{1} << (64 - page_shift);
[[gnu::section("processor")]] std::uint64_t newest_generation = 2 * one_generation;
[[gnu::section("processor")]] std::uint64_t generation = one_generation;
[[gnu::section("processor")]] std::uint64_t global_generation = 2 * one_generation;

bool is_current(std::uint64_t key, std::uint64_t address) {
    const std::uint64_t page = address >> page_shift;
    return key == (global_generation | page) || key == (generation | page);
}

// False: the number is used up, and no translation is left.
bool take_generation(std::uint64_t& which) {
    newest_generation += one_generation;
    which = newest_generation;
    if (newest_generation != 0) {
        return true;
    }
    translations.fill({});
    table_translations.fill({});
    generation = one_generation;
    newest_generation = global_generation = 2 * one_generation;
    return false;
}

// One bit for each 2 MiB of addresses of which a translation is kept. Several share a bit.
[[gnu::section("processor")]] std::uint64_t kept_regions;

constexpr std::uint64_t region_bit(std::uint64_t address) {
    const std::uint64_t region = address / large_page_bytes;
    return std::uint64_t{1} << ((region ^ (region >> 9U) ^ (region >> 18U)) % 64);
}

// One bit for each table that the walk of a translation went through. Several tables share a bit.
constexpr std::size_t word_bits = 64;
[[gnu::section("processor")]] std::uint64_t walked_tables[4];

std::uint64_t& walked_word(std::uint64_t frame) {
    return walked_tables[frame / word_bits % std::size(walked_tables)];
}

constexpr std::uint64_t walked_bit(std::uint64_t frame) {
    return std::uint64_t{1} << (frame % word_bits);
}

Translation& translation_of(Translations& kept, std::uint64_t address) {
    return kept[(address >> page_shift) % kept.size()];
}

constexpr std::uint64_t offset_of(std::uint64_t address) {
    return address & (page_bytes - 1);
}

// False: not cached, or not for this access, or no RAM, or the access crosses a page.
bool is_cached(const Translation& known, std::uint64_t address, std::size_t bytes, bool write) {
    return is_current(known.key, address) && known.memory != nullptr &&
           offset_of(address) + bytes <= page_bytes && (!write || known.may_write);
}

void remember(Translation& place, std::uint64_t address, const PageWalk& walk, bool write) {
    const std::uint64_t page = walk.physical & ~(page_bytes - 1);
    const bool is_global =
        (vcpu.cr4 & cr4_pge) != 0 && !is_fixed(walk) && (walk.entry[walk.leaf_level] & page_global) != 0;
    kept_regions |= region_bit(address);
    place = {.key = (is_global ? global_generation : generation) | (address >> page_shift),
             .physical = page,
             .memory = physical_memory(page, page_bytes),
             .may_write = write};
    for (unsigned level = walk.leaf_level; level <= root_level; ++level) {
        const std::uint64_t frame = walk.entry_address[level] >> page_shift;
        walked_word(frame) |= walked_bit(frame);
    }
}

} // namespace

[[gnu::noinline]] void forget_translations() {
    if (take_generation(generation)) {
        take_generation(global_generation);
    }
    kept_regions = 0;
    std::ranges::fill(walked_tables, 0);
}

void forget_translations_of_root() {
    take_generation(generation);
}

// A large page has many, and they go together.
void forget_translation(std::uint64_t address) {
    if ((kept_regions & region_bit(address)) != 0) {
        forget_translations();
    }
}

void forget_translations_through(std::uint64_t table) {
    const std::uint64_t frame = table >> page_shift;
    if ((walked_word(frame) & walked_bit(frame)) != 0) {
        forget_translations();
    }
}

KnownTableEntry known_table_entry(std::uint64_t address) {
    const Translation& known = translation_of(table_translations, address);
    if (!is_cached(known, address, sizeof(std::uint64_t), true)) {
        return {};
    }
    return {.physical = known.physical + offset_of(address),
            .entry = reinterpret_cast<std::uint64_t*>(known.memory + offset_of(address))};
}

const std::uint8_t* known_memory(std::uint64_t address, std::size_t bytes) {
    const Translation& known = translation_of(translations, address);
    return is_cached(known, address, bytes, false) ? known.memory + offset_of(address) : nullptr;
}

std::uint8_t* known_written_memory(std::uint64_t address, std::size_t bytes) {
    const Translation& known = translation_of(translations, address);
    if (!is_cached(known, address, bytes, true)) {
        return nullptr;
    }
    std::uint8_t* const memory = known.memory + offset_of(address);
    before_guest_write(known.physical); // it may forget the translation
    return memory;
}

std::optional<std::uint64_t> find_table_entry(std::uint64_t address) {
    if (const KnownTableEntry known = known_table_entry(address); known.entry != nullptr) {
        return known.physical;
    }
    PageWalk walks[2];
    if (!begin_access(address, sizeof(std::uint64_t), {.write = true}, walks)) {
        return {};
    }
    remember(translation_of(table_translations, address), address, walks[0], true);
    return walks[0].physical;
}

bool read_guest(std::uint64_t address, void* to, std::size_t bytes, Privilege privilege) {
    if (privilege == Privilege::supervisor) {
        const Translation& known = translation_of(translations, address);
        if (is_cached(known, address, bytes, false)) {
            copy(to, known.memory + offset_of(address), bytes);
            return true;
        }
    }
    PageWalk walks[2];
    if (!begin_access(address, bytes, {.user = privilege == Privilege::user}, walks)) {
        return false;
    }
    const std::size_t first = bytes_in_page(address, bytes);
    if (privilege == Privilege::supervisor) {
        remember(translation_of(translations, address), address, walks[0], false);
    }
    read_page(walks[0].physical, to, first);
    if (first < bytes) {
        read_page(walks[1].physical, static_cast<std::uint8_t*>(to) + first, bytes - first);
    }
    return true;
}

bool write_guest(std::uint64_t address, const void* from, std::size_t bytes, Privilege privilege) {
    if (privilege == Privilege::supervisor) {
        if (std::uint8_t* const memory = known_written_memory(address, bytes)) {
            copy(memory, from, bytes);
            return true;
        }
    }
    PageWalk walks[2];
    if (!begin_access(address, bytes, {.write = true, .user = privilege == Privilege::user}, walks)) {
        return false;
    }
    const std::size_t first = bytes_in_page(address, bytes);
    before_guest_write(walks[0].physical);
    if (privilege == Privilege::supervisor) {
        remember(translation_of(translations, address), address, walks[0], true);
    }
    write_page(walks[0].physical, from, first);
    if (first < bytes) {
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
