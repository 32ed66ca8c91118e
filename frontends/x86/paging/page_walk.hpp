// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/kernel_placement.hpp"
#include "frontends/x86/paging/page_entry.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace previrt {

enum class Privilege : std::uint8_t { supervisor, user };

struct Access {
    bool write = false;
    bool user = false;
    bool fetch = false;
};

// The way from CR3 to a page through the guest's own tables.
struct PageWalk {
    bool faults;
    std::uint32_t error_code;       // of the page fault
    unsigned leaf_level;            // 1, or 2 for a large page; past the root for what is fixed
    std::uint64_t entry[5];         // by level; valid from 4 down to where the walk ended
    std::uint64_t entry_address[5]; // guest-physical
    std::uint64_t physical;         // of the byte asked for
    bool user;                      // the page is open to user mode
};

inline bool is_fixed(const PageWalk& walk) {
    return walk.leaf_level > root_level;
}

// An entry that is present faults whatever is asked of it.
bool has_reserved_bits(unsigned level, std::uint64_t entry);

void fix_mapping(const FixedMapping& mapping);

// Addresses that no root maps but one, the kernel's own: what it loads beside its image, where user mode's
// part of the address space is.
void reserve_for_kernel(std::uint64_t address, std::uint64_t bytes);
bool is_reserved_for_kernel(std::uint64_t address);
// That root becomes known when one turns out to map such an address.
void set_kernel_root(std::uint64_t root);
// An address that the kernel reserved while its root is not known; nullopt: there is none, or it is known.
std::optional<std::uint64_t> unfound_kernel_address();
std::uint64_t root_of(std::uint64_t address); // CR3, for all others

PageWalk walk_page(std::uint64_t address, Access access);
// As if CR3 held another root.
PageWalk walk_page_from(std::uint64_t root, std::uint64_t address, Access access);

// Sets the accessed bits along the way, and the dirty bit for a write, as the processor does.
void mark_accessed(PageWalk& walk, bool write);

// As much as is mapped: no fault is raised.
std::size_t peek_guest(std::uint64_t address, std::uint8_t* to, std::size_t bytes, Privilege privilege);

inline std::size_t bytes_in_page(std::uint64_t address, std::size_t bytes) {
    return std::min<std::size_t>(bytes, page_bytes - (address & (page_bytes - 1)));
}

} // namespace previrt
