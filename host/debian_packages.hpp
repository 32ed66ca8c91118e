// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace previrt {

struct DebianPackages {
    std::vector<std::string> names;
    // Replaces each of these by the one package that it depends on: linux-image-amd64 stands for the newest
    // kernel.
    std::vector<std::string> dependencies_of;
    // The files that the caller uses; empty: all. They are part of the cache's key.
    std::vector<std::string> files;

    // One package a line.
    [[nodiscard]] std::string list() const;
};

// Downloads packages and unpacks them over each other into a directory. Needs no root, and installs nothing.
// Throws InputError.
void unpack_debian_packages(const DebianPackages& packages, const std::string& directory);

// Says whether the result is in the cache under this name, or would be downloaded; then asks Debian. Throws
// InputError if neither works.
std::string locate_debian_packages(const DebianPackages& packages, const std::string& name_in_cache);

} // namespace previrt
