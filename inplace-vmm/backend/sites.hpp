// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/counters.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace previrt {

struct KnownSite;

// The back-end's choice for one site.
struct Treatment {
    Way way = Way::native;
    std::uint64_t target = 0; // of a call or a jump; of a layout constant in line: its address in this VMM
};

} // namespace previrt

namespace previrt::backend {

// Whether an instruction that faults can stand for a site: where a fault of the guest's kernel goes.
enum class KernelFaults : std::uint8_t {
    to_the_guest,   // to the guest itself: the VMM has no part in it
    by_guest_stack, // to the VMM, if the kernel's stack pointer names a stack
    by_own_stack,   // to the VMM, on a stack of its own
};
KernelFaults kernel_faults();

// Chooses the replacement of a site.
Treatment treat_site(const KnownSite& site);
// A rewritten site calls this entry when nothing quicker fits.
std::uint64_t general_site_entry();
// The place of the entry's address, for an indirect call: below 2 GiB or in the last 2 GiB.
std::uint64_t entry_pointer(std::uint64_t entry);
// Writes the code of trampoline `number`, which will run at `address`.
void write_trampoline(const KnownSite& site, std::size_t number, std::uint64_t address,
                      std::span<std::uint8_t> code, std::uint64_t target);

// The byte that holds the interrupt flag while the guest runs: 1 is "disabled".
std::uint64_t interrupt_cell();

} // namespace previrt::backend
