// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"

#include <cstdint>

namespace previrt {

struct IdleBenchOptions {
    BenchOptions kernel;
    std::string on = "process";
    unsigned guests = 100;
    unsigned seconds = 20; // that they are watched for
};

// Prints what many guests that sleep use together: processor time, and memory. Throws InputError.
void bench_idle_guests(const IdleBenchOptions& options);

} // namespace previrt
