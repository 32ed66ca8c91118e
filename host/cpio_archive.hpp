// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace previrt {

// Files for Linux's initramfs, owned by root (Documentation/driver-api/early-userspace/buffer-format.rst).
// Archives behind each other are one.
class CpioArchive {
public:
    // Paths are without a leading slash; a directory comes before what is in it.
    void add_directory(const std::string& path);
    void add_link(const std::string& path, const std::string& target);
    // Throws InputError for one of 4 GiB.
    void add_file(const std::string& path, std::span<const std::uint8_t> contents, bool executable);

    // With its end mark.
    [[nodiscard]] std::vector<std::uint8_t> finish() &&;

private:
    void add(const std::string& path, std::uint32_t mode, std::span<const std::uint8_t> contents);

    std::vector<std::uint8_t> bytes_;
    std::uint32_t entries_ = 0;
};

} // namespace previrt
