// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

struct LinuxPaddingOptions {
    std::string version = "6.1";
    std::string configuration = "small";
    std::string compiler = "gcc";
    std::string json; // a file for the figures; empty: none
};

// Builds a plain and a pre-virtualized kernel of one configuration, and prints what each operation costs on
// bare metal, in instructions, side by side. Throws InputError.
void bench_linux_padding(const LinuxPaddingOptions& options);

} // namespace previrt
