// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"

#include <string>
#include <vector>

namespace previrt {

// By the names that bench/guest/programs.sh has for them.
const std::vector<std::string>& measured_programs();

struct ProgramsBenchOptions {
    BenchOptions kernel;
    unsigned runs = 1;                 // of each place, which take turns
    std::vector<std::string> columns;  // by name; empty: all
    std::vector<std::string> programs; // by name; empty: all
};

// Prints how long Debian's programs take from start to end in each place, compared with a chroot. A peer that
// does not work is left out, and said. Throws InputError.
void bench_programs(const ProgramsBenchOptions& options);

} // namespace previrt
