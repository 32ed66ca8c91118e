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
    std::uint64_t page; // its number, or all ones
    std::uint64_t physical;
    bool may_write;
};
constexpr std::size_t translation_count = 16;
constexpr std::uint64_t no_page = ~std::uint64_t{0};
[[gnu::section(".data.cache")]] constinit auto translations = [] {
    std::array<Translation, translation_count> none{};
    none.fill({.page = no_page, .physical = 0, .may_write = false});
    return none;
}();

Translation& translation_of(std::uint64_t address) {
    return translations[(address >> page_shift) % translation_count];
}

// nullopt: not cached, or the access crosses a page.
std::optional<std::uint64_t> cached_physical(std::uint64_t address, std::size_t bytes, bool write) {
    const Translation& known = translation_of(address);
    const std::uint64_t offset = address & (page_bytes - 1);
    const bool hit =
        known.page == address >> page_shift && offset + bytes <= page_bytes && (!write || known.may_write);
    return hit ? std::optional(known.physical + offset) : std::nullopt;
}

void remember(std::uint64_t address, const PageWalk& walk, bool write) {
    translation_of(address) = {
        .page = address >> page_shift, .physical = walk.physical & ~(page_bytes - 1), .may_write = write};
}

} // namespace

void forget_translations() {
    for (Translation& translation : translations) {
        translation.page = no_page;
    }
}

bool read_guest(std::uint64_t address, void* to, std::size_t bytes, Privilege privilege) {
    if (privilege == Privilege::supervisor) {
        if (const std::optional<std::uint64_t> physical = cached_physical(address, bytes, false)) {
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
        remember(address, walks[0], false);
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
        if (const std::optional<std::uint64_t> physical = cached_physical(address, bytes, true)) {
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
        remember(address, walks[0], true);
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
