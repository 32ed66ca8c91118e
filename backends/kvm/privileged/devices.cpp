// SPDX-License-Identifier: BSD-2-Clause
#include "backends/kvm/privileged/devices.hpp"

#include "backends/common/monitor_link/doorbells.hpp"
#include "backends/kvm/privileged/domain.hpp"
#include "backends/kvm/privileged/processors.hpp"
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

std::uint64_t told_timer_edges;

std::uint32_t vector_of(PicPair pic) {
    return pic.interrupt_requested() ? pic.acknowledge() : no_vector;
}

} // namespace

void take_devices() {
    std::memcpy(static_cast<void*>(&pc), pointer_to(mailbox.devices), sizeof(pc));
    told_timer_edges = pc.timer_edges;
    // A guest whose devices stay with the monitor has none of them: nobody would serve them.
    insert_network_card();
    insert_balloon();
    insert_disks();
    take_events();
    after_question();
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

namespace {

// With several processors. The monitor moves the lines at KVM's controllers before the VMM goes on, so that
// no edge is lost.
void tell_of_lines() {
    const std::uint32_t rises = pc.timer_edges != told_timer_edges ? 1U << Pc::timer_irq : 0;
    if (pc.lines() != mailbox.lines || rises != 0) {
        told_timer_edges = pc.timer_edges;
        mailbox.lines = pc.lines();
        mailbox.rises = rises;
        request_of_monitor(PortRequest::lines);
    }
}

void note_look() {
    mailbox.looked_at = pc.advanced_to;
    if (mailbox.deadline <= pc.advanced_to) {
        mailbox.deadline = never; // it was used
    }
}

void predict() {
    note_look();
    mailbox.request_vector = vector_of(pc.pic);
    const bool predicts = mailbox.request_vector == no_vector;
    mailbox.deadline_vector =
        predicts && mailbox.deadline != never ? vector_of(pc.interrupts_at(mailbox.deadline)) : no_vector;
    mailbox.input_vector =
        predicts && pc.uart.can_receive() ? vector_of(pc.interrupts_after_input()) : no_vector;
}

std::uint64_t next_deadline() {
    return mailbox.deadline < mailbox.output_deadline ? mailbox.deadline : mailbox.output_deadline;
}

bool alarm_is_late(std::uint64_t deadline) {
    // The monitor's alarm is no more exact than this.
    constexpr std::uint64_t slack = 20'000;
    const std::uint64_t timer = __atomic_load_n(&mailbox.timer, __ATOMIC_RELAXED);
    return deadline < timer && timer - deadline > slack;
}

// A thread of the monitor's sleeps until the deadline that it has read. It writes that down, and reads again.
void tell_of_deadline() {
    const std::uint64_t deadline = next_deadline();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (alarm_is_late(deadline)) {
        __atomic_store_n(&mailbox.timer, deadline, __ATOMIC_RELAXED);
        asm volatile("outl %0, %1" : : "a"(0), "d"(port_attention) : "memory");
    }
}

// The UART has room again.
bool input_waits() {
    const monitored::ConsoleRing& ring = monitored::input_ring();
    return pc.uart.can_receive() && __atomic_load_n(&ring.produced, __ATOMIC_ACQUIRE) != ring.consumed;
}

} // namespace

void after_question() {
    if (has_several_processors()) {
        note_look();
        tell_of_lines();
    } else {
        predict();
    }
}

void tell_monitor() {
    if (has_several_processors()) {
        if (input_waits()) {
            take_events();
        }
        note_look();
        tell_of_lines();
        tell_of_deadline();
        return;
    }
    predict();
    const bool waits = mailbox.request_vector != no_vector && mailbox.waits_for_window == 0;
    if (waits || alarm_is_late(next_deadline())) {
        request_of_monitor(PortRequest::attention);
    }
}

} // namespace previrt::kvm_privileged
