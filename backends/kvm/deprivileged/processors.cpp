// SPDX-License-Identifier: BSD-2-Clause
#include "backends/kvm/deprivileged/processors.hpp"

#include "backends/kvm/deprivileged/contract/processor_memory.hpp"
#include "backends/kvm/deprivileged/domain.hpp"
#include "backends/kvm/deprivileged/events.hpp"
#include "backends/kvm/deprivileged/processor_roots.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <bit>
#include <cstring>

namespace previrt::kvm {

extern "C" {
extern std::uint64_t kernel_root; // guest-physical
}

namespace {

std::uint64_t waiting_for_lock; // a bit for each processor

std::uint64_t bit_of(unsigned processor) {
    return std::uint64_t{1} << processor;
}

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
    __atomic_fetch_or(&waiting_for_lock, bit_of(vcpu.number), __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&lock, __ATOMIC_SEQ_CST) == value) {
        wait_for_interrupt();
    }
    // A processor that no longer waits must not be woken in place of one that does.
    __atomic_fetch_and(&waiting_for_lock, ~bit_of(vcpu.number), __ATOMIC_SEQ_CST);
}

void wake_one_for_lock(const std::uint32_t& /*lock*/) {
    const std::uint64_t waiting = __atomic_load_n(&waiting_for_lock, __ATOMIC_SEQ_CST);
    if (waiting != 0) {
        const unsigned next = vcpu.number + 1; // each has its turn
        const auto rotated =
            static_cast<unsigned>(std::countr_zero(std::rotr(waiting, static_cast<int>(next))));
        const unsigned processor = (rotated + next) % 64;
        __atomic_fetch_and(&waiting_for_lock, ~bit_of(processor), __ATOMIC_SEQ_CST);
        send_interrupt(processor);
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
