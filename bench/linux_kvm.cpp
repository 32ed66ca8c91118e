// SPDX-License-Identifier: BSD-2-Clause
#include "bench/linux_kvm.hpp"

#include "bench/measured_places.hpp"

namespace previrt {

void bench_linux_kvm(const PlaceBenchOptions& options) {
    bench_places("What KVM costs Linux", options,
                 std::vector{
                     native_column(),
                     previrt_column("kvm", {"--on", "kvm"}),
                     previrt_column("kvm --isolate", {"--on", "kvm", "--isolate"}),
                     user_mode_linux_column(),
                     peer(previrt_column("QEMU TCG", {"--on", "bare"})),
                 });
}

} // namespace previrt
