// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// A mapping that holds for the kernel whatever the guest's tables say: of its own image, where it could not
// be at the address where the tables have it.
struct FixedMapping {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t physical;
};

// Where the kernel lies.
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
