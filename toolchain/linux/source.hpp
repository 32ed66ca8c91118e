// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// An unpacked kernel source.
struct LinuxSource {
    std::string directory;
    std::string name;    // Debian's package and its version, or the directory
    std::string version; // the name in linux-patches/: "6.1"
    bool ours;           // in previrt's cache: nobody edits it
};

// Debian's package linux-source-VERSION, downloaded without root and unpacked once. Throws InputError.
LinuxSource fetch_linux_source(const std::string& version);

// Throws InputError with the missing programs.
void require_source_programs();

// A user's own source. Throws InputError.
LinuxSource open_linux_source(const std::string& directory);

} // namespace previrt
