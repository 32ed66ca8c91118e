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
    std::uint64_t memory_end = 0;               // of what its segments take, physical
    std::string sha256;                         // of the file as it was given
};

// Reads it, and takes it as read_guest_kernel does.
GuestKernel load_guest_kernel(const std::string& path, std::uint64_t guest_memory);

// Takes a kernel only if its segments fit into `guest_memory` bytes of RAM without touching the first MiB or
// each other, and its records are there and valid. Throws InputError: the message begins with the path.
GuestKernel read_guest_kernel(const std::string& path, const std::vector<std::uint8_t>& file,
                              std::uint64_t guest_memory);

// Once, moves a kernel that is linked in the last 2 GiB of the address space so that its lowest segment is at
// the virtual `address` (toolchain/pack/slid_kernel.hpp). One that is linked in the first 2 GiB stays as it
// is. Throws InputError: the message begins with the path.
// It has to record each of `layout`, which the place has elsewhere.
void slide_guest_kernel(GuestKernel& kernel, std::uint64_t address,
                        std::span<const LayoutConstantInfo> layout = {});

// Of a bzImage: the longest command line its kernel takes, without the NUL.
std::uint32_t longest_command_line(std::span<const std::uint8_t> setup_header);

} // namespace previrt
