// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/mode.hpp"

#include "host/input_error.hpp"
#include "monitor/guest/mapping.hpp"
#include "monitor/kvm/host.hpp"
#include "monitor/kvm/interface.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <sys/ioctl.h>

namespace previrt {

namespace {

// mov $count, %cx; here: loop here; hlt - in the 16-bit mode of a processor after reset.
constexpr std::uint16_t count = 20000;
constexpr auto code = std::to_array<std::uint8_t>({0xb9, count & 0xffU, count >> 8U, 0xe2, 0xfe, 0xf4});

// Measured: 210 to 600 ns and more if interpreted, less than 1 ns on a processor. But the measurement
// includes entry and exit, some 100 us on an emulated processor: 5 ns of each iteration.
constexpr std::chrono::nanoseconds slowest_native{50};

void start_at_zero(const Descriptor& processor) {
    kvm_sregs state{};
    kvm_request(processor, KVM_GET_SREGS, "KVM_GET_SREGS", &state);
    state.cs.base = 0;
    state.cs.selector = 0;
    kvm_request(processor, KVM_SET_SREGS, "KVM_SET_SREGS", &state);
    kvm_regs registers{};
    registers.rflags = 2;
    kvm_request(processor, KVM_SET_REGS, "KVM_SET_REGS", &registers);
}

} // namespace

KvmMode find_kvm_mode(const Descriptor& kvm) {
    const Descriptor machine(kvm_request(kvm, KVM_CREATE_VM, "KVM_CREATE_VM"));
    const Mapping memory = Mapping::of_guest(std::uint64_t{2} << 20U);
    std::ranges::copy(code, memory.bytes().begin());
    kvm_userspace_memory_region region{};
    region.memory_size = memory.bytes().size();
    region.userspace_addr = reinterpret_cast<std::uintptr_t>(memory.bytes().data());
    kvm_request(machine, KVM_SET_USER_MEMORY_REGION, "KVM_SET_USER_MEMORY_REGION", &region);
    const Descriptor processor(kvm_request(machine, KVM_CREATE_VCPU, "KVM_CREATE_VCPU"));
    const Mapping shared = Mapping::of_descriptor(
        processor,
        static_cast<std::size_t>(kvm_request(kvm, KVM_GET_VCPU_MMAP_SIZE, "KVM_GET_VCPU_MMAP_SIZE")));
    const auto* const run = reinterpret_cast<const kvm_run*>(shared.bytes().data());

    // This thread may lose the processor meanwhile: the quickest attempt counts.
    constexpr int attempts = 5;
    auto quickest = std::chrono::nanoseconds::max();
    for (int i = 0; i < attempts && quickest > slowest_native * count; ++i) {
        start_at_zero(processor);
        const auto start = std::chrono::steady_clock::now();
        while (ioctl(processor.number(), KVM_RUN, 0) != 0) {
            if (errno != EINTR && errno != EAGAIN) {
                throw InputError("/dev/kvm: this host's KVM does not run a virtual machine");
            }
        }
        const auto took = std::chrono::steady_clock::now() - start;
        if (run->exit_reason != KVM_EXIT_HLT) {
            throw InputError("/dev/kvm: this host's KVM ended a loop for reason " +
                             std::to_string(run->exit_reason));
        }
        quickest = std::min(quickest, std::chrono::duration_cast<std::chrono::nanoseconds>(took));
    }
    return quickest > slowest_native * count ? KvmMode::interpreted : KvmMode::native;
}

} // namespace previrt
