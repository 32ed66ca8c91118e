// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"

namespace previrt {

// Builds a plain and a pre-virtualized kernel of one configuration, and prints the instructions of each
// operation on bare metal, side by side. Throws InputError.
void bench_linux_padding(const BenchOptions& options);

} // namespace previrt
