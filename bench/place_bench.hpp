// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"
#include "bench/measured_place.hpp"
#include "bench/measured_places.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace previrt {

struct PlaceBenchOptions {
    BenchOptions kernel;
    unsigned runs = 10;                // of each place, in turns
    Effort effort;                     // in each run
    std::optional<unsigned> processor; // none: the last
    std::vector<std::string> columns;  // by name; empty: all
};

// Prints the time of each operation in each place, compared with the first place. A peer that does not work
// is left out with a message. Throws InputError.
// `title`: of its result.
void bench_places(const std::string& title, const PlaceBenchOptions& options,
                  std::span<const Column> columns);

} // namespace previrt
