// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/interrupts.hpp"

#include "frontends/x86/devices/console_ports.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "inplace-vmm/backend/events.hpp"
#include "inplace-vmm/event_ring.hpp"
#include "inplace-vmm/package.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

bool interrupt_is_due() {
    return vcpu.interrupt_flag && pc.interrupt_requested();
}

void deliver_due_interrupt() {
    const std::uint8_t vector = acknowledge_interrupt();
    record_event(Event::interrupt, vcpu.registers.rip, vector);
    deliver_interrupt(vector);
}

void halt() {
    pc.rest_processor(true);
    take_events();
    if (!vcpu.interrupt_flag) {
        while (console_ports_wait()) {
            backend::idle();
            backend::take_events();
            take_events();
        }
        end_guest(end_powered_off); // nothing can wake it
    }
    while (!pc.interrupt_requested()) {
        backend::idle();
        backend::take_events();
        take_events();
    }
    pc.rest_processor(false);
}

} // namespace previrt
