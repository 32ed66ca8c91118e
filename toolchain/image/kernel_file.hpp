// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/image/bzimage.hpp"
#include "toolchain/image/elf_image.hpp"

#include <optional>
#include <string>

namespace previrt {

// An ELF file of any kind, or the ELF file in a bzImage.
struct KernelFile {
    std::string path;
    std::optional<Compression> packed; // of a bzImage
    ElfImage elf;
};

// Throws InputError: the message begins with the path.
KernelFile load_kernel_file(const std::string& path);
KernelFile parse_kernel_file(std::string path, std::vector<std::uint8_t> bytes);

} // namespace previrt
