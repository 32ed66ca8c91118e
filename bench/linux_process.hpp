// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/place_bench.hpp"

namespace previrt {

// On the host, in previrt's kernel as a process, in User Mode Linux, and in gVisor.
void bench_linux_process(const PlaceBenchOptions& options);

} // namespace previrt
