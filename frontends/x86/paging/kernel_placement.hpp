// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/kernel_placement.hpp"

#include <cstdint>

namespace previrt {

// The kernel's addresses.
struct KernelPlacement {
    std::uint64_t physical;
    std::uint64_t bytes;
    std::uint64_t link_delta;       // link address - physical address
    backend::KernelImage fixed;     // that the back-end maps, whatever the guest's tables say; bytes 0: none
    backend::AddressRange reserved; // which no root maps but the kernel's own
    std::uint64_t root;             // that root; 0: not known
};

} // namespace previrt
