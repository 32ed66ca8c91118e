// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace previrt {

// An archive for Linux's initramfs, with files owned by root
// (Documentation/driver-api/early-userspace/buffer-format.rst). Concatenated archives are one archive.
class CpioArchive {
public:
    // Paths have no leading slash; add a directory before its contents.
    void add_directory(const std::string& path);
    void add_link(const std::string& path, const std::string& target);
    // Throws InputError for 4 GiB or more.
    void add_file(const std::string& path, std::span<const std::uint8_t> contents, bool executable);

    // With its end mark.
    [[nodiscard]] std::vector<std::uint8_t> finish() &&;

private:
    void add(const std::string& path, std::uint32_t mode, std::span<const std::uint8_t> contents);

    std::vector<std::uint8_t> bytes_;
    std::uint32_t entries_ = 0;
};

} // namespace previrt
