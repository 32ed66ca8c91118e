// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"

#include <string>
#include <vector>

namespace previrt {

// The names in bench/guest/processors.sh.
const std::vector<std::string>& measured_processor_rows();

struct ProcessorsBenchOptions {
    BenchOptions kernel;
    unsigned processors = 2;          // of the columns with a number
    unsigned runs = 1;                // of each place, in turns
    unsigned seconds = 3;             // of each row that is not a whole program
    std::vector<std::string> columns; // by name; empty: all
    std::vector<std::string> rows;    // by name; empty: all
};

// Prints what programs gain by several processors in each place, and what processors cost each other,
// compared with one processor of this machine. A peer that does not work is left out with a message. Throws
// InputError.
void bench_processors(const ProcessorsBenchOptions& options);

} // namespace previrt
