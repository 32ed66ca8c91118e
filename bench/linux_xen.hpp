// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"

namespace previrt {

// Prints what each operation costs in instructions: our kernel on bare metal and, pre-virtualized, under Xen;
// Debian's own kernel on bare metal and under Xen, which it was ported to. Then what the in-place VMM counted
// for one of each. Throws InputError.
void bench_linux_xen(const BenchOptions& options);

} // namespace previrt
