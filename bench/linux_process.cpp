// SPDX-License-Identifier: BSD-2-Clause
#include "bench/linux_process.hpp"

#include "bench/measured_places.hpp"

namespace previrt {

void bench_linux_process(const PlaceBenchOptions& options) {
    bench_places(
        "What a process costs Linux", options,
        std::vector{
            native_column(),
            previrt_column("process", {"--on", "process"}),
            previrt_column("process --no-syscall-rewrite", {"--on", "process", "--no-syscall-rewrite"}),
            previrt_column("process --isolate", {"--on", "process", "--isolate"}),
            user_mode_linux_column(),
            gvisor_column(),
        });
}

} // namespace previrt
