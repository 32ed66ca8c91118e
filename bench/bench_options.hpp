// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// The kernel to measure, and the files for the figures.
struct BenchOptions {
    std::string version = "6.1";
    std::string configuration = "small";
    std::string compiler = "gcc";
    std::string json; // a file for the figures; empty: none
    std::string plot; // a file for a chart of them; empty: none
};

} // namespace previrt
