// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// A mapping for the kernel alone, whatever the guest's tables say: its own image, used when the kernel cannot
// be at its linked address.
struct FixedMapping {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t physical;
};

// The kernel's addresses.
struct KernelPlacement {
    std::uint64_t physical;
    std::uint64_t bytes;
    std::uint64_t link_delta; // link address - physical address
    FixedMapping fixed;
    // Addresses that no root maps but the kernel's own.
    std::uint64_t reserved_first;
    std::uint64_t reserved_bytes;
    std::uint64_t root; // 0: not known
};

} // namespace previrt
