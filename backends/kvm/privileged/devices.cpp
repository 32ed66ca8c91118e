// SPDX-License-Identifier: BSD-2-Clause
#include "backends/kvm/privileged/devices.hpp"

#include "backends/kvm/privileged/domain.hpp"
#include "frontends/x86/devices/balloon.hpp"
#include "frontends/x86/devices/disks.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/devices/network.hpp"
#include "inplace-vmm/backend/console.hpp"
#include "inplace-vmm/backend/events.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/stop.hpp"

#include <cstring>

namespace previrt::kvm_privileged {

namespace {

std::uint32_t vector_of(PicPair pic) {
    return pic.interrupt_requested() ? pic.acknowledge() : no_vector;
}

} // namespace

void take_devices() {
    std::memcpy(static_cast<void*>(&pc), pointer_to(mailbox.devices), sizeof(pc));
    // A guest whose devices stay with the monitor has none of them: nobody would serve them.
    insert_network_card();
    insert_balloon();
    insert_disks();
    take_events();
    predict();
}

void take_delivered() {
    if (mailbox.delivered == Cause::none) {
        return;
    }
    // Repeats the steps of tell_monitor()'s prediction: INTA then gives the delivered vector.
    if (mailbox.delivered == Cause::deadline) {
        pc.advance(Pc::boot_processor, mailbox.deadline);
    } else if (mailbox.delivered == Cause::input) {
        pc.uart.receive(backend::read_console().value_or(0));
        pc.update_lines();
    }
    mailbox.delivered = Cause::none;
    ++counters.delivered[pc.pic.acknowledge()];
    take_events();
}

std::optional<std::uint8_t> take_interrupt() {
    if (!pc.pic.interrupt_requested()) {
        return {};
    }
    const std::uint8_t vector = acknowledge_interrupt();
    ++counters.delivered[vector];
    ++counters.delivered_at_site;
    return vector;
}

void predict() {
    mailbox.looked_at = pc.advanced_to;
    if (mailbox.deadline <= pc.advanced_to) {
        mailbox.deadline = never; // it was used
    }
    mailbox.request_vector = vector_of(pc.pic);
    const bool predicts = mailbox.request_vector == no_vector;
    mailbox.deadline_vector =
        predicts && mailbox.deadline != never ? vector_of(pc.interrupts_at(mailbox.deadline)) : no_vector;
    mailbox.input_vector =
        predicts && pc.uart.can_receive() ? vector_of(pc.interrupts_after_input()) : no_vector;
}

void tell_monitor() {
    predict();
    const bool waits = mailbox.request_vector != no_vector && mailbox.waits_for_window == 0;
    // The monitor's alarm is no more exact than this.
    constexpr std::uint64_t slack = 20'000;
    const std::uint64_t deadline =
        mailbox.deadline < mailbox.output_deadline ? mailbox.deadline : mailbox.output_deadline;
    const bool is_late = deadline < mailbox.timer && mailbox.timer - deadline > slack;
    if (waits || is_late) {
        request_of_monitor(PortRequest::attention);
    }
}

} // namespace previrt::kvm_privileged
