// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/image/elf_image.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace previrt {

// What a field of a linked Linux holds that changes when the kernel moves.
enum class RelocatedField : std::uint8_t {
    full_64,    // an address, or a distance from __START_KERNEL_map
    signed_32,  // the lower half of such a value, which its user sign-extends
    inverse_32, // a distance to it from what does not move with the kernel: the data of each processor
};

struct KernelRelocation {
    std::uint64_t address; // as linked
    RelocatedField field;

    [[nodiscard]] std::uint64_t size() const { return field == RelocatedField::full_64 ? 8 : 4; }
};

// The table that arch/x86/tools/relocs.c of Linux makes, and that follows the ELF file in a bzImage: by
// address, without overlaps, each field inside the contents of one section. Throws InputError.
std::vector<KernelRelocation> read_kernel_relocations(const ElfImage& kernel,
                                                      std::span<const std::uint8_t> table);

} // namespace previrt
