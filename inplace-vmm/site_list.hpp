// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/record_check.hpp"

#include <cstdint>
#include <span>

namespace previrt {

constexpr std::size_t longest_site = 30; // that a record can describe

// A site as the VMM keeps it: the guest may change its own copy of the record and of the code.
struct KnownSite {
    std::uint64_t address;
    SiteRecord record;
    std::uint8_t bytes[16]; // before it was rewritten

    [[nodiscard]] SiteKind kind() const { return static_cast<SiteKind>(record.kind); }
    // The instruction without its padding, and how far it is behind the site's address.
    [[nodiscard]] std::span<const std::uint8_t> instruction() const;
    [[nodiscard]] unsigned padding_in_front() const;
    [[nodiscard]] std::uint64_t end() const { return address + record.site_length(); }
};
static_assert(sizeof(KnownSite) == 32);

// Sorted by address. It begins empty, with room for `count` sites, and grows while the back-end has memory.
// False: it has none for that many.
bool start_site_list(std::size_t count);
std::span<const KnownSite> known_sites();
// False: there is no memory for another. Pointers to sites are of no use afterwards.
bool add_site(const KnownSite& site);
const KnownSite* find_site(std::uint64_t address);
// Of [begin, end): whether a site has any of its bytes; and those that have are no longer known.
bool has_sites(std::uint64_t begin, std::uint64_t end);
void forget_sites(std::uint64_t begin, std::uint64_t end);

} // namespace previrt
