// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/image/elf_image.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace previrt {

// A field of a linked Linux that changes when the kernel moves.
enum class RelocatedField : std::uint8_t {
    full_64,    // an address, or a distance from __START_KERNEL_map
    signed_32,  // the lower half of such a value, which its user sign-extends
    inverse_32, // a distance from the field to something that does not move with the kernel: the data of each
                // processor
};

// The data of each processor in a kernel for several. It is linked at 0 and loaded with the rest of the
// kernel, which copies it for each processor.
struct ProcessorData {
    const Section* section = nullptr; // nullptr: there are none
    std::uint64_t loaded_at = 0;      // in the last 2 GiB
};
ProcessorData find_processor_data(const ElfImage& kernel);

struct KernelRelocation {
    std::uint64_t address; // in the last 2 GiB, where the kernel is when it starts
    RelocatedField field;
    const Section* section; // it contains the whole field
    std::uint64_t in_section;

    [[nodiscard]] std::uint64_t size() const { return field == RelocatedField::full_64 ? 8 : 4; }
};

// The table of Linux's arch/x86/tools/relocs.c, which follows the ELF file in a bzImage: by address, without
// overlaps, each field inside the contents of one section. Throws InputError.
std::vector<KernelRelocation> read_kernel_relocations(const ElfImage& kernel,
                                                      std::span<const std::uint8_t> table);

} // namespace previrt
