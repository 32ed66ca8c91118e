// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/backend/sites.hpp"
#include "frontends/x86/processor/extended_state.hpp"
#include "inplace-vmm/site_list.hpp"
#include "inplace-vmm/stop.hpp"

namespace previrt::backend {

KernelFaults kernel_faults() {
    return KernelFaults::by_own_stack;
}

// A site raises an exception, which stops the child. Nothing is ever called.
Treatment treat_site(const KnownSite& site) {
    switch (site.kind()) {
    // A process executes these as the guest's kernel would.
    case SiteKind::rdtsc:
    case SiteKind::rdtscp:
    case SiteKind::rdpid:
    case SiteKind::rdpru:
    case SiteKind::rdpmc:
    // A kernel with these is not moved: it must have been linked where a process can have it.
    case SiteKind::layout_constant:
        return {.way = Way::native};
    default:
        return {.way =
                    is_extended_state(site.kind()) && extended_state_is_native() ? Way::native : Way::trap};
    }
}

std::uint64_t general_site_entry() {
    stop_guest("no site calls this VMM");
}

std::uint64_t entry_pointer(std::uint64_t /*entry*/) {
    stop_guest("no site calls this VMM");
}

void write_trampoline(const KnownSite& /*site*/, std::size_t /*number*/, std::uint64_t /*address*/,
                      std::span<std::uint8_t> /*code*/, std::uint64_t /*target*/) {
    stop_guest("no site jumps to this VMM");
}

std::uint64_t interrupt_cell() {
    stop_guest("no site of this VMM's changes the interrupt flag by itself");
}

} // namespace previrt::backend
