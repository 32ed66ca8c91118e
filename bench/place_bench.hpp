// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"
#include "bench/measured_place.hpp"

#include <optional>

namespace previrt {

struct KvmBenchOptions {
    BenchOptions kernel;
    unsigned runs = 10;                // of each place, which take turns
    Effort effort;                     // in each run
    std::optional<unsigned> processor; // none: the last
};

// Prints how long each operation takes: on the host, in our kernel under KVM, in User Mode Linux, and in our
// kernel on QEMU's processor. A peer that does not work is left out, and said. Throws InputError.
void bench_linux_kvm(const KvmBenchOptions& options);

} // namespace previrt
