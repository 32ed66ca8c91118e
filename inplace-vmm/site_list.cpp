// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/site_list.hpp"

#include <algorithm>

namespace previrt {

namespace {

KnownSite* sites;
std::size_t site_count;
std::size_t site_room;

// The few sites that are in use most of the time, by address.
constexpr std::size_t recent_count = 512;
const KnownSite* recent[recent_count];

const KnownSite*& recent_place(std::uint64_t address) {
    return recent[(address ^ (address >> 9U)) % recent_count];
}

KnownSite* first_not_before(std::uint64_t address) {
    return std::lower_bound(sites, sites + site_count, address,
                            [](const KnownSite& site, std::uint64_t where) { return site.address < where; });
}

} // namespace

unsigned KnownSite::padding_in_front() const {
    switch (kind()) {
    case SiteKind::iret:
    case SiteKind::sysret:
    case SiteKind::sysexit:
    case SiteKind::ljmp:
    case SiteKind::lret:
    case SiteKind::rsm:
    case SiteKind::ins:
    case SiteKind::outs:
    case SiteKind::int_n:
    case SiteKind::lcall:
        return 0;
    default:
        return record.padding_length();
    }
}

std::span<const std::uint8_t> KnownSite::instruction() const {
    return {bytes + padding_in_front(), record.instruction_length()};
}

void start_site_list(KnownSite* room, std::size_t count) {
    sites = room;
    site_count = 0;
    site_room = count;
}

std::span<const KnownSite> known_sites() {
    return {sites, site_count};
}

bool add_site(const KnownSite& site) {
    std::ranges::fill(recent, nullptr);
    KnownSite* const place = first_not_before(site.address);
    if (place != sites + site_count && place->address == site.address) {
        *place = site; // another module where one was before
        return true;
    }
    if (site_count == site_room) {
        return false;
    }
    std::move_backward(place, sites + site_count, sites + site_count + 1);
    *place = site;
    ++site_count;
    return true;
}

const KnownSite* find_site(std::uint64_t address) {
    const KnownSite*& known = recent_place(address);
    if (known != nullptr && known->address == address) {
        return known;
    }
    const KnownSite* const place = first_not_before(address);
    if (place == sites + site_count || place->address != address) {
        return nullptr;
    }
    known = place;
    return place;
}

} // namespace previrt
