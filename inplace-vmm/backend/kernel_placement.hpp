// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt::backend {

// A guest's kernel as it was linked, or moved before the start.
struct KernelImage {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t physical; // in the guest's memory
};

struct AddressRange {
    std::uint64_t first;
    std::uint64_t bytes;
};

// A kernel that was moved to an address where its own page tables cannot have it needs the back-end's
// mapping: for the kernel alone, for good, and whatever the guest's tables say. Gives the addresses that only
// the kernel's own root maps, those of its modules. nullopt: the guest's tables place the kernel.
std::optional<AddressRange> map_kernel_image(const KernelImage& image);

} // namespace previrt::backend
