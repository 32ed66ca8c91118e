// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/network/bench.hpp"

namespace previrt {

// The same between a domain and dom0, counted in instructions: ours beside the ones that have Xen's own
// network driver. Throws InputError.
void bench_xen_network(const NetworkBenchOptions& options);

} // namespace previrt
