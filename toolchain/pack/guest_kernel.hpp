// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "previrt/layout_constants.hpp"

#include "toolchain/image/kernel_file.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace previrt {

// A kernel that an in-place VMM can start: an ELF executable, or the one in a bzImage.
struct GuestKernel {
    std::string path; // as given, for messages
    std::vector<std::uint8_t> elf;
    std::vector<std::uint8_t> relocation_table; // of a bzImage, what follows the ELF file; may be empty
    std::vector<std::uint8_t> setup_header;     // of a bzImage, from 0x1f1; empty for an ELF file
    std::uint64_t memory_end = 0;               // of its segments, physical
    std::string sha256;                         // of the given file
};

// Reads the file; see read_guest_kernel.
GuestKernel load_guest_kernel(const std::string& path, std::uint64_t guest_memory);

// Accepts a kernel only if its segments fit into `guest_memory` bytes of RAM without touching the first MiB
// or each other, and if it has valid records. Throws InputError: the message begins with the path.
GuestKernel read_guest_kernel(const std::string& path, const std::vector<std::uint8_t>& file,
                              std::uint64_t guest_memory);

// Moves a kernel that is linked in the last 2 GiB of the address space, so that its lowest segment is at the
// virtual `address` (toolchain/pack/slid_kernel.hpp). Call it once. A kernel that is linked in the first 2
// GiB stays. The kernel must record each constant of `layout`, which the place has at other addresses. Throws
// InputError: the message begins with the path.
void slide_guest_kernel(GuestKernel& kernel, std::uint64_t address,
                        std::span<const LayoutConstantInfo> layout = {});

// The longest command line that the kernel of a bzImage takes, without the NUL.
std::uint32_t longest_command_line(std::span<const std::uint8_t> setup_header);

} // namespace previrt
