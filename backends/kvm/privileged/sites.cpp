// SPDX-License-Identifier: BSD-2-Clause
// The treatment of each kind of site if the guest keeps its privileges: KVM's processor executes all but
// device accesses. HLT stays: its exit is the sleep itself.
#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "inplace-vmm/stop.hpp"

#include <iterator>

namespace previrt {

extern "C" {
extern const std::uint64_t port_pointers[8]; // in_b, in_w, -, in_l; out_b, out_w, -, out_l: through DX
extern const std::uint64_t port_immediate_pointer;
extern const std::uint64_t register_pointer;
extern const std::uint64_t announcement_pointers[5]; // by their tags
}

namespace {

std::uint64_t port_entry(const KnownSite& site) {
    if (site.record.shape() != Shape::dx) {
        return port_immediate_pointer;
    }
    return port_pointers[(site.kind() == SiteKind::out ? 4U : 0U) + site.record.width() - 1];
}

} // namespace

} // namespace previrt

namespace previrt::backend {

Treatment treat_site(const KnownSite& site) {
    switch (site.kind()) {
    case SiteKind::in:
    case SiteKind::out:
        return {.way = Way::call, .target = port_entry(site)};
    case SiteKind::mmio_read:
    case SiteKind::mmio_write:
        return {.way = Way::call, .target = register_pointer};
    case SiteKind::announce_sites:
        if (site.record.operand >= std::size(announcement_pointers)) {
            stop_guest("a site with an announcement that the VMM does not know, at", site.address);
        }
        return {.way = Way::call, .target = announcement_pointers[site.record.operand]};
    default:
        return {};
    }
}

void write_trampoline(const KnownSite& site, std::size_t /*number*/, std::uint64_t /*address*/,
                      std::span<std::uint8_t> /*code*/, std::uint64_t /*target*/) {
    stop_guest("no kind of site jumps here, at", site.address);
}

std::uint64_t general_site_entry() {
    stop_guest("no kind of site is replaced inline here");
}

std::uint64_t interrupt_cell() {
    stop_guest("the guest's interrupt flag is the processor's");
}

std::uint64_t entry_pointer(std::uint64_t entry) {
    for (const std::uint64_t& pointer : port_pointers) {
        if (pointer == entry) {
            return reinterpret_cast<std::uint64_t>(&pointer);
        }
    }
    for (const std::uint64_t& pointer : announcement_pointers) {
        if (pointer == entry) {
            return reinterpret_cast<std::uint64_t>(&pointer);
        }
    }
    return reinterpret_cast<std::uint64_t>(entry == register_pointer ? &register_pointer
                                                                     : &port_immediate_pointer);
}

} // namespace previrt::backend
