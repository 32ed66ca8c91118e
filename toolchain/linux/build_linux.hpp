// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace previrt {

struct BuildLinuxOptions {
    std::string source;          // a directory; empty: Debian's package
    std::string version = "6.1"; // of that package
    std::string configuration = "small";
    std::string compiler = "gcc";
    std::vector<std::string> without; // optional patches
    bool plain = false;               // neither macros nor patches
    std::string output;
    unsigned jobs = 0; // 0: one a processor
};

// Writes bzImage, vmlinux, modules/, config and previrt.json to options.output. True if the audit found the
// kernel and its modules complete (a plain kernel is not audited). Throws InputError.
bool build_linux(const BuildLinuxOptions& options);

} // namespace previrt
