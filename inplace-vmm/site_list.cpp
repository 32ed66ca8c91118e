// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/site_list.hpp"

#include "inplace-vmm/backend/memory.hpp"

#include <algorithm>

namespace previrt {

namespace {

[[gnu::section(".bss.cache")]] KnownSite* sites;
[[gnu::section(".bss.cache")]] std::size_t site_count;
[[gnu::section(".bss.cache")]] std::size_t site_room;
[[gnu::section(".bss.cache")]] std::uint64_t version;

// Caches the few sites that are in use most of the time, by address.
constexpr std::size_t recent_count = 512;
struct RecentSite {
    const KnownSite* site;
    InstructionRow* row; // that counts its calls, once it has called
};
[[gnu::section(".bss.cache")]] RecentSite recent[recent_count];

RecentSite& recent_place(std::uint64_t address) {
    return recent[(address ^ (address >> 9U)) % recent_count];
}

KnownSite* first_not_before(std::uint64_t address) {
    return std::lower_bound(sites, sites + site_count, address,
                            [](const KnownSite& site, std::uint64_t where) { return site.address < where; });
}

bool take_room(std::size_t least) {
    const std::span<KnownSite> larger = backend::memory_for_sites(least);
    if (larger.size() < least) {
        return false;
    }
    std::copy_n(sites, site_count, larger.data());
    std::ranges::fill(recent, RecentSite{});
    sites = larger.data();
    site_room = larger.size();
    return true;
}

bool has_room() {
    constexpr std::size_t fewest = 256;
    return site_count < site_room || take_room(std::max(2 * site_room, fewest));
}

// The sites with a byte in [begin, end). Sites do not overlap.
std::span<KnownSite> range_of(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) {
        return {};
    }
    KnownSite* first = first_not_before(begin);
    if (first != sites && (first - 1)->end() > begin) {
        --first;
    }
    return {first, first_not_before(end)};
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

bool start_site_list(std::size_t count) {
    ++version;
    sites = nullptr;
    site_count = 0;
    site_room = 0;
    return take_room(count);
}

std::span<const KnownSite> known_sites() {
    return {sites, site_count};
}

std::uint64_t site_list_version() {
    return version;
}

bool add_site(const KnownSite& site) {
    ++version;
    if (site_count == 0 || sites[site_count - 1].address < site.address) { // nothing moves
        if (!has_room()) {
            return false;
        }
        sites[site_count++] = site;
        return true;
    }
    std::ranges::fill(recent, RecentSite{});
    if (KnownSite* const known = first_not_before(site.address);
        known != sites + site_count && known->address == site.address) {
        *known = site; // another module was here before
        return true;
    }
    if (!has_room()) {
        return false;
    }
    KnownSite* const place = first_not_before(site.address);
    std::move_backward(place, sites + site_count, sites + site_count + 1);
    *place = site;
    ++site_count;
    return true;
}

CalledSite find_called_site(std::uint64_t address) {
    RecentSite& known = recent_place(address);
    if (known.site != nullptr && known.site->address == address) {
        return {.site = known.site, .row = &known.row};
    }
    // Every page fault of user mode asks, and a program lies elsewhere.
    if (site_count == 0 || address < sites[0].address || address > sites[site_count - 1].address) {
        return {};
    }
    const KnownSite* const place = first_not_before(address);
    if (place == sites + site_count || place->address != address) {
        return {};
    }
    known = {.site = place, .row = nullptr};
    return {.site = place, .row = &known.row};
}

const KnownSite* find_site(std::uint64_t address) {
    return find_called_site(address).site;
}

std::span<const KnownSite> sites_in(std::uint64_t begin, std::uint64_t end) {
    return range_of(begin, end);
}

bool has_sites(std::uint64_t begin, std::uint64_t end) {
    return !range_of(begin, end).empty();
}

void forget_sites(std::uint64_t begin, std::uint64_t end) {
    ++version;
    const std::span<KnownSite> gone = range_of(begin, end);
    if (!gone.empty()) {
        std::ranges::fill(recent, RecentSite{});
        std::move(gone.data() + gone.size(), sites + site_count, gone.data());
        site_count -= gone.size();
    }
}

} // namespace previrt
