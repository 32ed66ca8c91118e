// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/pack/package_file.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace previrt {

namespace {

// Appends `part` at the next aligned offset.
PackagePart append(std::vector<std::uint8_t>& package, std::span<const std::uint8_t> part) {
    if (part.empty()) {
        return {.offset = 0, .bytes = 0};
    }
    package.resize((package.size() + package_alignment - 1) / package_alignment * package_alignment);
    const PackagePart place = {.offset = package.size(), .bytes = part.size()};
    package.insert(package.end(), part.begin(), part.end());
    return place;
}

} // namespace

std::vector<std::uint8_t> make_package(const PackageContents& contents) {
    PackageHeader header{};
    std::ranges::copy(package_magic, std::begin(header.magic));
    header.version = package_version;
    header.flags = contents.flags;
    header.guest_memory = contents.guest_memory;
    std::ranges::copy(contents.kernel_sha256, std::begin(header.kernel_sha256));

    std::vector<std::uint8_t> package;
    package.reserve(sizeof header + contents.kernel.size() + contents.setup_header.size() +
                    contents.initrd.size() + contents.command_line.size() + 1 + (4 * package_alignment));
    package.resize(sizeof header);
    header.kernel = append(package, contents.kernel);
    header.setup_header = append(package, contents.setup_header);
    header.initrd = append(package, contents.initrd);
    std::vector<std::uint8_t> command_line(contents.command_line.begin(), contents.command_line.end());
    command_line.push_back(0);
    header.command_line = append(package, command_line);
    header.bytes = package.size();
    std::memcpy(package.data(), &header, sizeof header);
    return package;
}

} // namespace previrt
