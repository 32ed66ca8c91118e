// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/interrupts.hpp"

#include "frontends/x86/devices/console_ports.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "frontends/x86/processor/usual_return.hpp"
#include "inplace-vmm/backend/events.hpp"
#include "inplace-vmm/event_ring.hpp"
#include "inplace-vmm/package.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

namespace {

LocalApic& local_apic() {
    return pc.local_apics.of(vcpu.number);
}

bool wakes() {
    return nmi_is_due() || (vcpu.interrupt_flag && pc.interrupt_requested(vcpu.number));
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
    return local_apic().nmi_requested && !vcpu.nmi_blocked;
}

void deliver_due_nmi() {
    local_apic().nmi_requested = false;
    vcpu.nmi_blocked = true;
    usual_return.code = 0; // only the general way of iret ends the block
    record_event(Event::interrupt, vcpu.registers.rip, non_maskable_interrupt);
    deliver_interrupt(non_maskable_interrupt);
}

void halt() {
    pc.rest_processor(true);
    take_events();
    if (!vcpu.interrupt_flag && !nmi_is_due() && !pc.io_apic.can_send_nmi()) {
        while (console_ports_wait()) {
            backend::idle();
            backend::take_events();
            take_events();
        }
        end_guest(end_powered_off); // nothing can wake it
    }
    while (!wakes()) {
        backend::idle();
        backend::take_events();
        take_events();
    }
    pc.rest_processor(false);
}

} // namespace previrt
