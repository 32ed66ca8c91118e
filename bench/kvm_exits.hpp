// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"

namespace previrt {

// How often KVM leaves a guest in privileged mode, by operation: rewritten, and left as it is by the same
// monitor. Where this host's KVM runs level 0 on the processor, there; else under QEMU, which counts
// instructions, so that two runs are identical.
void bench_kvm_exits(const BenchOptions& options);

} // namespace previrt
