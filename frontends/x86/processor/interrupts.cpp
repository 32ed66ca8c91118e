// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/interrupts.hpp"

#include "frontends/x86/devices/console_ports.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/devices/processor_apic.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "frontends/x86/processor/processor_start.hpp"
#include "frontends/x86/processor/usual_return.hpp"
#include "inplace-vmm/backend/events.hpp"
#include "inplace-vmm/event_ring.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/package.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

namespace {

// A bit for each processor that executes hlt with interrupts disabled.
[[gnu::section(".bss.cache")]] std::uint64_t halted_processors;

std::uint64_t own_bit() {
    return std::uint64_t{1} << (vcpu.number % LocalApics::most);
}

// Nothing wakes the last of them.
void end_if_all_are_halted() {
    halted_processors |= own_bit();
    for (unsigned i = 0; i < pc.local_apics.count; ++i) {
        const bool is_stopped = (halted_processors >> i & 1U) != 0 || pc.local_apics.of(i).waits_for_start;
        if (!is_stopped) {
            return;
        }
    }
    while (console_ports_wait()) {
        backend::idle();
        backend::take_events();
        take_events();
    }
    end_guest(end_powered_off);
}

bool wakes() {
    return nmi_is_due() || reset_is_requested() || interrupt_is_due();
}

} // namespace

bool interrupt_is_due() {
    return vcpu.interrupt_flag && pc.interrupt_requested(vcpu.number);
}

void deliver_due_interrupt() {
    const std::uint8_t vector = acknowledge_interrupt();
    record_event(Event::interrupt, vcpu.registers.rip, vector);
    deliver_interrupt(vector);
}

bool nmi_is_due() {
    return own_local_apic().nmi_requested && !vcpu.nmi_blocked;
}

void deliver_due_nmi() {
    own_local_apic().nmi_requested = false;
    vcpu.nmi_blocked = true;
    usual_return.code = 0; // only the general way of iret ends the block
    record_event(Event::interrupt, vcpu.registers.rip, non_maskable_interrupt);
    deliver_interrupt(non_maskable_interrupt);
}

void halt() {
    pc.rest_processor(true);
    take_events();
    if (!vcpu.interrupt_flag && !nmi_is_due() && !pc.io_apic.can_send_nmi()) {
        end_if_all_are_halted();
    }
    while (!wakes()) {
        notify_processors();
        end_cycles();
        backend::idle();
        begin_cycles();
        backend::take_events();
        take_events();
    }
    halted_processors &= ~own_bit();
    pc.rest_processor(false);
}

} // namespace previrt
