// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"

#include <string>
#include <vector>

namespace previrt {

// The names in bench/guest/programs.sh.
const std::vector<std::string>& measured_programs();

struct ProgramsBenchOptions {
    BenchOptions kernel;
    unsigned runs = 1;                 // of each place, in turns
    std::vector<std::string> columns;  // by name; empty: all
    std::vector<std::string> programs; // by name; empty: all
};

// Prints the time of Debian's programs from start to end in each place, compared with a chroot. A peer that
// does not work is left out with a message. Throws InputError.
void bench_programs(const ProgramsBenchOptions& options);

} // namespace previrt
