// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/place_bench.hpp"

namespace previrt {

// On the host, in previrt's kernel under KVM, in User Mode Linux, and in previrt's kernel on QEMU's
// processor.
void bench_linux_kvm(const PlaceBenchOptions& options);

} // namespace previrt
