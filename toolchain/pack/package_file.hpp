// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/package.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace previrt {

struct PackageContents {
    std::uint32_t flags = 0; // PackageFlags
    std::uint64_t guest_memory = 0;
    std::span<const std::uint8_t> kernel;
    std::span<const std::uint8_t> setup_header;
    std::span<const std::uint8_t> initrd;
    std::string command_line;
    std::array<std::uint8_t, 32> kernel_sha256{};
};

// The file for an in-place VMM (inplace-vmm/package.hpp).
std::vector<std::uint8_t> make_package(const PackageContents& contents);

} // namespace previrt
