// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/site_list.hpp"

#include <algorithm>

namespace previrt {

namespace {

KnownSite* sites;
std::size_t site_count;
std::size_t site_room;

KnownSite* first_not_before(std::uint64_t address) {
    return std::lower_bound(sites, sites + site_count, address,
                            [](const KnownSite& site, std::uint64_t where) { return site.address < where; });
}

} // namespace

std::span<const std::uint8_t> KnownSite::instruction() const {
    const SiteKindInfo* const info = find_site_kind(record.kind);
    const bool in_front = info != nullptr && info->padding == Padding::front;
    return {bytes, in_front ? record.site_length() : record.instruction_length()};
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
    const KnownSite* const place = first_not_before(address);
    return place != sites + site_count && place->address == address ? place : nullptr;
}

} // namespace previrt
