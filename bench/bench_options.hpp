// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// The kernel to measure, and the file for the figures.
struct BenchOptions {
    std::string version = "6.1";
    std::string configuration = "small";
    std::string compiler = "gcc";
    std::string json; // a file for the figures; empty: none
};

} // namespace previrt
