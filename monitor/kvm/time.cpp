// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/time.hpp"

#include "host/input_error.hpp"
#include "monitor/kvm/host.hpp"
#include "monitor/kvm/interface.hpp"

#include <chrono>
#include <limits>

namespace previrt {

namespace {

constexpr std::uint32_t msr_time_stamp = 0x10;

std::uint64_t wall_clock() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

std::uint64_t rate_of(const Descriptor& processor) {
    return static_cast<std::uint64_t>(kvm_request(processor, KVM_GET_TSC_KHZ, "KVM_GET_TSC_KHZ"));
}

} // namespace

std::uint64_t read_kvm_time_stamp(const Descriptor& processor) {
    KvmList<kvm_msrs> msrs(1);
    msrs->nmsrs = 1;
    msrs->entries[0].index = msr_time_stamp;
    if (kvm_request(processor, KVM_GET_MSRS, "KVM_GET_MSRS", msrs.get()) != 1) {
        throw InputError("the host's KVM does not give the time-stamp counter");
    }
    return msrs->entries[0].data;
}

// KVM creates processors for the rate that it found when it started. Linux may have measured the rate more
// exactly since. Where the hardware cannot scale a counter, KVM then computes with a counter that stands
// still, while the guest's runs.
void set_rate_of_host(const Descriptor& processor) {
    constexpr std::uintptr_t rate_of_host = 0;
    kvm_request(processor, KVM_SET_TSC_KHZ, "KVM_SET_TSC_KHZ", rate_of_host);
}

KvmTime start_kvm_time(const Descriptor& processor) {
    if (rate_of(processor) == 0) {
        throw InputError("the host's KVM does not say how fast the time-stamp counter is");
    }
    set_rate_of_host(processor);
    KvmTime best{};
    best.time_stamp_khz = rate_of(processor);
    // This thread may lose the processor during the request: the quickest attempt is the most exact.
    constexpr int attempts = 5;
    std::uint64_t quickest = std::numeric_limits<std::uint64_t>::max();
    for (int i = 0; i < attempts; ++i) {
        const std::uint64_t before = wall_clock();
        const std::uint64_t time_stamp = read_kvm_time_stamp(processor);
        const std::uint64_t took = wall_clock() - before;
        if (took < quickest) {
            quickest = took;
            best.epoch_nanoseconds = before + (took / 2);
            best.epoch_time_stamp = time_stamp;
        }
    }
    return best;
}

} // namespace previrt
