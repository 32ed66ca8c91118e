// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/linux/source.hpp"

#include <string>
#include <vector>

namespace previrt {

// One file of linux-patches/VERSION/ or linux-patches/optional/; its name is its purpose.
struct LinuxPatch {
    std::string path;
    std::string purpose;
    unsigned lines; // added or changed
    std::vector<std::string> files;
    bool optional = false;
};

// All patches for the source's version, and the optional ones except `without`. Throws InputError.
std::vector<LinuxPatch> linux_patches(const std::string& version,
                                      const std::vector<std::string>& without = {});

// Makes `directory` a patched copy of the source. A later call writes only changed files, so that the build
// there stays incremental. Throws InputError with the patch and the hunk that does not apply.
void make_patched_copy(const LinuxSource& source, const std::vector<LinuxPatch>& patches,
                       const std::string& directory);

} // namespace previrt
