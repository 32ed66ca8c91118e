// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/devices/machine.hpp"

#include "frontends/x86/devices/balloon.hpp"
#include "frontends/x86/devices/console_ports.hpp"
#include "frontends/x86/devices/disks.hpp"
#include "frontends/x86/devices/folders.hpp"
#include "frontends/x86/devices/network.hpp"
#include "frontends/x86/devices/vsock.hpp"
#include "inplace-vmm/backend/console.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/package.hpp"
#include "inplace-vmm/panic_watch.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>

namespace previrt {

constinit MachineState machine_state{};

namespace {

// The time that the back-end has: another back-end needs it anew.
[[gnu::section("processor")]] std::optional<std::uint64_t> timer_set_for;
[[gnu::section("processor")]] std::uint64_t timer_expired_at;
[[gnu::section("processor")]] bool timer_waits; // while an interrupt is requested

// The guest may ask for 596,000 ticks a second, and the VMM takes longer than such a tick to take its event.
// A slow host takes longer than the least time: then the time doubles until the guest executes an
// instruction.
constexpr std::uint64_t least_between_timers = 20'000;
constexpr std::uint64_t most_between_timers = 640'000;
[[gnu::section("processor")]] std::uint64_t between_timers = least_between_timers;
[[gnu::section("processor")]] std::uint64_t timer_expired_at_address;

std::optional<std::uint64_t> earlier(std::optional<std::uint64_t> one, std::optional<std::uint64_t> other) {
    if (one && other) {
        return std::min(*one, *other);
    }
    return one ? one : other;
}

std::optional<std::uint64_t> next_event() {
    const std::optional<std::uint64_t> next = pc.next_event(vcpu.number);
    return next ? std::optional(std::max(*next, timer_expired_at + between_timers)) : next;
}

// The timer has expired. A guest that halts stays at one address too, but with interrupts enabled: its next
// timer must not be late.
void follow_progress_of_guest() {
    const bool stands = !vcpu.interrupt_flag && timer_expired_at_address == vcpu.registers.rip;
    between_timers = stands ? std::min(2 * between_timers, most_between_timers) : least_between_timers;
    timer_expired_at_address = vcpu.registers.rip;
}

// A timer that expires again before the guest's next instruction would keep the guest from that instruction
// for ever. While an interrupt is requested, no timer is needed. Only a disk's doorbell needs one, once: the
// guest may have disabled interrupts, and wait for a completion.
void set_timer() {
    timer_waits = pc.interrupt_requested(vcpu.number);
    const std::optional<std::uint64_t> next =
        earlier(timer_waits ? timer_set_for : earlier(next_event(), packets_due()), disks_due());
    if (next != timer_set_for) {
        timer_set_for = next;
        backend::set_timer(next);
    }
}

} // namespace

void take_events() {
    while (pc.uart.can_receive()) {
        const std::optional<std::uint8_t> character = backend::read_console();
        if (!character) {
            break;
        }
        pc.uart.receive(*character);
    }
    flush_console();
    const std::uint64_t now = backend::now();
    if (timer_set_for && *timer_set_for <= now) {
        timer_set_for.reset();
        timer_expired_at = now;
        follow_progress_of_guest();
    }
    pc.advance(vcpu.number, now);
    if (pc.request == Request::reset) {
        pc.rest_processor(true); // so that no frame waits for a further one
    }
    serve_balloon();
    serve_disks();
    serve_vsock();
    serve_console_ports();
    serve_folders();
    move_packets(pc.advanced_to);
    set_timer();
    if (pc.request == Request::reset) {
        while (console_ports_wait()) {
            serve_console_ports();
        }
        end_guest(end_rebooted);
    }
}

void stop_timer() {
    timer_set_for.reset();
    backend::set_timer(std::nullopt);
}

std::uint8_t acknowledge_interrupt() {
    const std::uint8_t vector = pc.acknowledge(vcpu.number);
    set_timer();
    return vector;
}

void device_was_read() {
    if (timer_waits) {
        set_timer(); // the request may have gone with its line
    }
}

void interrupt_controller_was_written() {
    set_timer();
}

void network_card_was_written(std::uint64_t now) {
    move_packets(now);
    set_timer();
}

void disk_is_accessed() {
    serve_disks();
    set_timer();
}

void flush_console() {
    char text[64];
    std::size_t length = 0;
    while (const std::optional<std::uint8_t> character = pc.uart.take_transmitted()) {
        text[length++] = static_cast<char>(*character);
        const bool panicked = machine_state.panic_watch.read(text[length - 1]);
        if (length == sizeof(text) || panicked) {
            backend::write_console({text, length});
            length = 0;
        }
        if (panicked) {
            tell_of_panic();
        }
    }
    if (length != 0) {
        backend::write_console({text, length});
    }
    pc.update_lines();
}

} // namespace previrt
