// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"
#include "bench/network/guest.hpp"

#include <optional>
#include <string>
#include <vector>

namespace previrt {

struct NetworkBenchOptions {
    BenchOptions kernel;
    std::string on = "host";           // host: by a tap device; or xen
    std::optional<unsigned> runs;      // of each place, in turns; none: 5, on xen 1
    std::optional<unsigned> mebibytes; // of each stream, in each run; none: 100, on xen 16
    std::vector<std::string> columns;  // by name; empty: all
    NetworkTraffic traffic;
};

// Prints the time and processor time of guests' transfers. A peer that does not work is left out with a
// message. Throws InputError.
void bench_network(const NetworkBenchOptions& options);

} // namespace previrt
