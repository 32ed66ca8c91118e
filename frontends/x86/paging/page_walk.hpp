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

// The walk from CR3 to a page through the guest's own tables.
struct PageWalk {
    bool faults;
    std::uint32_t error_code;       // of the page fault
    unsigned leaf_level;            // 1, or 2 for a large page; above the root for a fixed mapping
    std::uint64_t entry[5];         // by level; valid from 4 down to the level at which the walk ended
    std::uint64_t entry_address[5]; // guest-physical
    std::uint64_t physical;         // of the requested byte
    bool user;                      // the page is open to user mode
};

inline bool is_fixed(const PageWalk& walk) {
    return walk.leaf_level > root_level;
}

// A present entry with such bits faults on every access.
bool has_reserved_bits(unsigned level, std::uint64_t entry);

// Whether only one root maps this address, the kernel's own: modules beside its image, in user mode's part of
// the address space (backend::map_kernel_image).
bool is_reserved_for_kernel(std::uint64_t address);
// Called when a root turns out to map such an address.
void set_kernel_root(std::uint64_t root);
// An address that the kernel reserved, while its root is unknown; nullopt: nothing is reserved, or the root
// is known.
std::optional<std::uint64_t> unfound_kernel_address();
std::uint64_t root_of(std::uint64_t address); // the kernel's root for a reserved address, CR3 for all others

PageWalk walk_page(std::uint64_t address, Access access);
// As if CR3 held this root.
PageWalk walk_page_from(std::uint64_t root, std::uint64_t address, Access access);

// Sets the accessed bits of the walk, and the dirty bit for a write, as the processor does. False: another
// processor has changed an entry since the walk, which is to be made again.
[[nodiscard]] bool mark_accessed(PageWalk& walk, bool write);

// Reads as many bytes as are mapped, and raises no fault.
std::size_t peek_guest(std::uint64_t address, std::uint8_t* to, std::size_t bytes, Privilege privilege);

inline std::size_t bytes_in_page(std::uint64_t address, std::size_t bytes) {
    return std::min<std::size_t>(bytes, page_bytes - (address & (page_bytes - 1)));
}

} // namespace previrt
