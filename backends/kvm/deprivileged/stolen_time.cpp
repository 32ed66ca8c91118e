// SPDX-License-Identifier: BSD-2-Clause
#include "backends/kvm/deprivileged/contract/layout.hpp"
#include "backends/kvm/deprivileged/domain.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt::backend {

namespace {

// The beginning of KVM's struct kvm_steal_time.
struct StolenTime {
    std::uint64_t nanoseconds;
    std::uint32_t version; // odd while KVM writes
};

} // namespace

std::optional<std::uint64_t> stolen_time() {
    const monitored::Part& times = kvm::handover.stolen_times;
    if (times.bytes == 0) {
        return {};
    }
    const volatile auto& time = *reinterpret_cast<const volatile StolenTime*>(
        kvm::part_of_vmm(times) + (vcpu.number * kvm::stolen_time_bytes));
    std::uint64_t nanoseconds = 0;
    std::uint32_t version = 0;
    do {
        version = time.version;
        nanoseconds = time.nanoseconds;
    } while ((version & 1U) != 0 || time.version != version);
    return nanoseconds;
}

} // namespace previrt::backend
