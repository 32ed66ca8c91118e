// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/network/bench.hpp"

namespace previrt {

// The same between a domain and dom0, counted in instructions: previrt's guest beside guests with Xen's own
// network driver. Throws InputError.
void bench_xen_network(const NetworkBenchOptions& options);

} // namespace previrt
