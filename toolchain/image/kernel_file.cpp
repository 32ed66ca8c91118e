// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/kernel_file.hpp"

#include "toolchain/image/file.hpp"
#include "toolchain/image/input_error.hpp"

#include <utility>

namespace previrt {

KernelFile parse_kernel_file(std::string path, std::vector<std::uint8_t> bytes) {
    try {
        if (!is_bzimage(bytes)) {
            return {std::move(path), std::nullopt, ElfImage::parse(std::move(bytes))};
        }
        BzImage image = unpack_bzimage(bytes);
        return {std::move(path), image.compression, ElfImage::parse(std::move(image.kernel))};
    } catch (const InputError& error) {
        throw InputError(path + ": " + error.what());
    }
}

KernelFile load_kernel_file(const std::string& path) {
    return parse_kernel_file(path, read_file(path));
}

} // namespace previrt
