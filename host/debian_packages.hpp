// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace previrt {

struct DebianPackages {
    std::vector<std::string> names;
    // Of each of these the one package that it depends on: linux-image-amd64 stands for the newest kernel.
    std::vector<std::string> dependencies_of;
    // What the caller takes of them, where that is not all: what is kept depends on it.
    std::vector<std::string> files;

    // One a line.
    [[nodiscard]] std::string list() const;
};

// Downloads packages and unpacks them over each other into a directory, as any user; nothing is installed.
// Throws InputError.
void unpack_debian_packages(const DebianPackages& packages, const std::string& directory);

// Whether what was made of them is in the cache by this name, or is to be downloaded: then Debian is asked.
// Throws InputError where neither is so.
std::string locate_debian_packages(const DebianPackages& packages, const std::string& name_in_cache);

} // namespace previrt
