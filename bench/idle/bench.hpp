// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"

#include <cstdint>

namespace previrt {

struct IdleBenchOptions {
    BenchOptions kernel;
    std::string on = "process";
    unsigned guests = 100;
    unsigned seconds = 20; // of observation
    bool network = false;  // each guest has a card at one switch, and is pinged at the end
};

// Prints the processor time and memory of many sleeping guests together. Throws InputError.
void bench_idle_guests(const IdleBenchOptions& options);

} // namespace previrt
