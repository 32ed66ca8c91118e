// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/image/decompress.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace previrt {

// A Linux/x86 boot image (Documentation/arch/x86/boot.rst): setup code, decompressor, compressed kernel.
struct BzImage {
    std::uint16_t boot_protocol;
    Compression compression;
    std::vector<std::uint8_t> kernel; // the ELF image, followed by its relocation table if it has one
};

bool is_bzimage(std::span<const std::uint8_t> file);

// Throws InputError.
BzImage unpack_bzimage(std::span<const std::uint8_t> file);

} // namespace previrt
