// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"

#include <string>
#include <vector>

namespace previrt {

struct NetworkBenchOptions {
    BenchOptions kernel;
    unsigned runs = 5;                // of each place, which take turns
    unsigned mebibytes = 100;         // of each stream, in each run
    std::vector<std::string> columns; // by name; empty: all
};

// Prints how long guests take to send and to receive, and how much processor time, each by a tap device. A
// peer that does not work is left out, and said. Throws InputError.
void bench_network(const NetworkBenchOptions& options);

} // namespace previrt
