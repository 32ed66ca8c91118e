// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/devices/processor_apic.hpp"

#include "frontends/x86/devices/machine.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/processor.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

namespace {

constexpr unsigned class_shift = 4;

} // namespace

std::uint64_t read_apic_base() {
    return own_local_apic().base;
}

bool write_apic_base(std::uint64_t value) {
    switch (own_local_apic().write_base(value)) {
    case LocalApic::BaseWrite::refused:
        return false;
    case LocalApic::BaseWrite::not_modelled:
        stop_guest("a local APIC at another place is not modelled: IA32_APIC_BASE", value);
    case LocalApic::BaseWrite::done:
        break;
    }
    follow_task_priority();
    take_events();
    return true;
}

bool has_deadline_timer() {
    return own_local_apic().is_enabled();
}

std::uint64_t read_deadline() {
    own_local_apic().advance(backend::now());
    return own_local_apic().deadline();
}

void write_deadline(std::uint64_t time_stamp) {
    // In this order, so that the clock is never before the counter.
    const std::uint64_t here = processor::read_time_stamp();
    const std::uint64_t now = backend::now();
    own_local_apic().advance(now);
    own_local_apic().write_deadline(
        time_stamp, time_stamp > here ? now + backend::time_of_ticks(time_stamp - here) : now);
    take_events();
}

void write_task_priority(std::uint64_t cr8) {
    vcpu.cr8 = cr8;
    own_local_apic().task_priority = static_cast<std::uint32_t>(cr8 << class_shift);
    take_events(); // requested interrupts may be masked now, and then the timer is needed again
}

void follow_task_priority() {
    vcpu.cr8 = own_local_apic().task_priority >> class_shift;
}

} // namespace previrt
