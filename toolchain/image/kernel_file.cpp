// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/kernel_file.hpp"

#include "host/file.hpp"
#include "host/input_error.hpp"

#include <utility>

namespace previrt {

KernelFile parse_kernel_file(std::string path, std::vector<std::uint8_t> bytes) {
    try {
        if (!is_bzimage(bytes)) {
            ElfImage elf = ElfImage::parse(std::move(bytes));
            return {std::move(path), std::nullopt, std::move(elf)};
        }
        BzImage image = unpack_bzimage(bytes);
        ElfImage elf = ElfImage::parse(std::move(image.kernel));
        return {std::move(path), image.compression, std::move(elf)};
    } catch (const InputError& error) {
        throw InputError(path + ": " + error.what());
    }
}

KernelFile load_kernel_file(const std::string& path) {
    return parse_kernel_file(path, read_file(path));
}

} // namespace previrt
