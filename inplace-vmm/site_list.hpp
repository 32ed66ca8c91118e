// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/record_check.hpp"

#include <cstdint>
#include <span>

namespace previrt {

struct InstructionRow;

constexpr std::size_t longest_site = 30; // the longest that a record can describe

// The VMM's own copy of a site: the guest may change the record and the code in its memory.
struct KnownSite {
    std::uint64_t address;
    SiteRecord record;
    std::uint8_t bytes[16]; // the original ones

    [[nodiscard]] SiteKind kind() const { return static_cast<SiteKind>(record.kind); }
    // The instruction without its padding, and the number of padding bytes in front of it.
    [[nodiscard]] std::span<const std::uint8_t> instruction() const;
    [[nodiscard]] unsigned padding_in_front() const;
    [[nodiscard]] std::uint64_t end() const { return address + record.site_length(); }
};
static_assert(sizeof(KnownSite) == 32);

// The list is sorted by address. It begins empty, with room for `count` sites, and grows while the back-end
// has memory. False: the back-end lacks memory for that many.
bool start_site_list(std::size_t count);
std::span<const KnownSite> known_sites();
std::uint64_t site_list_version(); // grows with each change of the list
// False: there is no memory for another site. Invalidates pointers to sites.
bool add_site(const KnownSite& site);
const KnownSite* find_site(std::uint64_t address);
// The same for a site that calls the VMM, with a place for the row that counts it: empty at first, and valid
// until the next call of any of these.
struct CalledSite {
    const KnownSite* site; // nullptr: there is none
    InstructionRow** row;
};
CalledSite find_called_site(std::uint64_t address);
// The sites with a byte in [begin, end).
std::span<const KnownSite> sites_in(std::uint64_t begin, std::uint64_t end);
bool has_sites(std::uint64_t begin, std::uint64_t end);
void forget_sites(std::uint64_t begin, std::uint64_t end);

} // namespace previrt
