// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"

namespace previrt {

// Prints the instructions of each operation: of previrt's kernel on bare metal and under Xen, and of Debian's
// own kernel on bare metal and under Xen, to which it was ported. Then prints the in-place VMM's counts of
// one operation. Throws InputError.
void bench_linux_xen(const BenchOptions& options);

} // namespace previrt
