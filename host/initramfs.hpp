// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/cpio_archive.hpp"

#include <set>
#include <string>

namespace previrt {

// Files under absolute names. Adds each file once, after all directories above it.
class Initramfs {
public:
    // Throws InputError.
    void add_file(const std::string& name, std::span<const std::uint8_t> contents, bool executable);
    // This machine's file, under the same name.
    void add_file_of_host(const std::string& name);
    void add_link(const std::string& name, const std::string& target);

    [[nodiscard]] std::vector<std::uint8_t> finish() && { return std::move(archive_).finish(); }

private:
    // Without the leading slash; empty if it is there already.
    std::string make_place(const std::string& name);

    std::set<std::string> names_;
    CpioArchive archive_;
};

} // namespace previrt
