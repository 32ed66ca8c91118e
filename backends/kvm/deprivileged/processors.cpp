// SPDX-License-Identifier: BSD-2-Clause
#include "backends/kvm/deprivileged/processors.hpp"

#include "backends/common/ring3/lock_waiters.hpp"
#include "backends/kvm/deprivileged/contract/processor_memory.hpp"
#include "backends/kvm/deprivileged/domain.hpp"
#include "backends/kvm/deprivileged/events.hpp"
#include "backends/kvm/deprivileged/processor_roots.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cstring>
#include <optional>

namespace previrt::kvm {

extern "C" {
extern std::uint64_t kernel_root; // guest-physical
}

namespace {

constinit LockWaiters lock_waiters;

} // namespace

std::uint64_t own_bytes() {
    return static_cast<std::uint64_t>(processor_end - processor_start);
}

std::uint8_t* memory_of(unsigned processor) {
    return part_of_vmm(handover.other_processors) +
           ((processor - 1) * ProcessorMemory{.own_bytes = own_bytes()}.bytes());
}

void start_processors() {
    const ProcessorMemory parts{.own_bytes = own_bytes()};
    start_processor_roots();
    for (unsigned i = 1; i < backend::processor_count(); ++i) {
        std::memcpy(memory_of(i), processor_start, own_bytes());
        of_processor(i, kernel_root) =
            physical_of(memory_of(i) + parts.root()); // the gates of --isolate load it
        of_processor(i, vcpu).number = i;
        set_activity_of(i, Activity::absent);
    }
}

} // namespace previrt::kvm

namespace previrt {

using namespace kvm;

std::uint8_t* memory_of_processor(unsigned processor, const void* variable) {
    const auto* const place = static_cast<const std::uint8_t*>(variable);
    if (processor == vcpu.number) {
        return const_cast<std::uint8_t*>(place); // a compiler may not know that two addresses are one place
    }
    return processor == 0
               ? pointer_to(handover.vmm_memory) + (reinterpret_cast<std::uint64_t>(place) - image_address)
               : memory_of(processor) + (place - processor_start);
}

void wait_for_lock(const std::uint32_t& lock, std::uint32_t value) {
    ++counters.hypercalls[call_wait_for_vmm];
    lock_waiters.wait(vcpu.number, lock, value, wait_for_interrupt);
}

void wake_one_for_lock(const std::uint32_t& /*lock*/) {
    if (const std::optional<unsigned> processor = lock_waiters.take_next(vcpu.number)) {
        send_interrupt(*processor);
    }
}

void begin_absent(unsigned processor) {
    send_interrupt(processor);
}

void interrupt_guest(unsigned processor) {
    send_interrupt(processor);
}

void wake_sleeper(unsigned processor) {
    send_interrupt(processor);
}

unsigned backend::processor_count() {
    return static_cast<unsigned>(handover.processors);
}

} // namespace previrt
