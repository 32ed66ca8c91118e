// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"

namespace previrt {

// Counts KVM's exits of a guest in privileged mode, by operation, with and without rewriting, under the same
// monitor. Runs on the host if its KVM runs level 0 on the processor; otherwise under QEMU, which counts
// instructions, so that two runs are identical.
void bench_kvm_exits(const BenchOptions& options);

} // namespace previrt
