// SPDX-License-Identifier: BSD-2-Clause
// Events come as interrupts of the processor's local APIC: of its timer, from the monitor, and from other
// processors. One word tells of all.
#include "backends/kvm/deprivileged/events.hpp"

#include "backends/common/monitor_link/clock.hpp"
#include "backends/common/ring3/flag_byte_entries.hpp"
#include "backends/kvm/deprivileged/domain.hpp"
#include "backends/kvm/deprivileged/processors.hpp"
#include "inplace-vmm/backend/events.hpp"
#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/counters.hpp"

namespace previrt::kvm {

extern "C" {
extern std::uint32_t pending; // bits of these
}

namespace {

enum LocalApic : std::uint64_t {
    end_of_interrupt = 0xb0,
    spurious_vector = 0xf0,
    command_low = 0x300,
    command_high = 0x310,
    timer_entry = 0x320,
    timer_initial = 0x380,
    timer_divide = 0x3e0,
};
enum Pending : std::uint8_t {
    pending_event = 1, // the local APIC waits for the end of the interrupt
    pending_attention = 2,
    pending_call = event_call,
};

constexpr std::uint32_t software_enable = 0x100;
constexpr std::uint32_t divide_by_1 = 0xb;
constexpr unsigned spurious = 0xff;

constexpr std::uint32_t command_assert = 0x4000;
constexpr unsigned command_destination = 24;

constexpr std::uint64_t never = ~std::uint64_t{0};
constexpr std::uint64_t longest_timer = 4'000'000'000; // of 32 bits

[[gnu::section("processor")]] constinit std::uint64_t timer_when = never;
[[gnu::section("processor")]] constinit std::uint64_t timer_set_for = never; // never: it does not run

[[gnu::section("processor")]] unsigned destination; // in the local APIC: 0 after a reset

void write_local_apic(std::uint64_t place, std::uint32_t value) {
    *reinterpret_cast<volatile std::uint32_t*>(local_apic_address + place) = value;
}

// The timer counts nanoseconds: an early interrupt starts the rest.
void start_timer(std::uint64_t now) {
    const std::uint64_t left = timer_when > now ? timer_when - now : 1;
    const std::uint64_t next = left < longest_timer ? left : longest_timer;
    timer_set_for = now + next;
    write_local_apic(timer_initial, static_cast<std::uint32_t>(next));
}

// The next interrupt may come at once, so the gate is restored before.
void acknowledge() {
    lead_next_event_in();
    write_local_apic(end_of_interrupt, 0);
}

// Unless one of these is pending.
void halt(std::uint32_t events) {
    ++counters.hypercalls[call_wait];
    call_level_0(level_0_halt, events);
}

} // namespace

void start_events() {
    monitored::start_clock(handover.clock);
}

void start_own_events() {
    write_local_apic(spurious_vector, software_enable | spurious);
    write_local_apic(timer_divide, divide_by_1);
    write_local_apic(timer_entry, event_vector);
}

void send_interrupt(unsigned processor) {
    ++counters.hypercalls[call_interrupt];
    if (destination != processor) { // each store takes KVM more than 2 us
        destination = processor;
        write_local_apic(command_high, processor << command_destination);
    }
    write_local_apic(command_low, command_assert | event_vector);
}

void wait_for_interrupt() {
    halt(pending_event);
    if ((__atomic_load_n(&pending, __ATOMIC_RELAXED) & pending_event) != 0) {
        __atomic_fetch_or(&pending, std::uint32_t{pending_call}, __ATOMIC_RELAXED);
        __atomic_fetch_and(&pending, ~std::uint32_t{pending_event}, __ATOMIC_RELAXED);
        acknowledge();
    }
}

} // namespace previrt::kvm

namespace previrt {

void note_event(unsigned processor) {
    __atomic_fetch_or(&of_processor(processor, kvm::pending), std::uint32_t{kvm::pending_call},
                      __ATOMIC_SEQ_CST);
}

} // namespace previrt

namespace previrt::backend {

using namespace kvm;

std::uint64_t interrupt_cell() {
    return reinterpret_cast<std::uint64_t>(&interrupts_disabled);
}

void set_timer(std::optional<std::uint64_t> when) {
    timer_when = when.value_or(never);
    const std::uint64_t time = now();
    if (timer_when != never && (timer_when < timer_set_for || timer_set_for <= time)) {
        start_timer(time);
    }
}

void idle() {
    if (fall_asleep(pending) && __atomic_load_n(&pending, __ATOMIC_SEQ_CST) == 0) {
        halt(~std::uint32_t{0});
    }
    wake_up();
}

bool take_events() {
    if (__atomic_load_n(&pending, __ATOMIC_RELAXED) == 0) {
        return false;
    }
    if ((__atomic_exchange_n(&pending, 0, __ATOMIC_SEQ_CST) & pending_event) != 0) {
        acknowledge();
    }
    const std::uint64_t time = now();
    if (timer_when <= time) {
        timer_when = never;
    }
    constexpr std::uint64_t most_early = 100'000; // by this clock; the timer uses another one
    if (timer_set_for <= time + most_early) {
        timer_set_for = never;
    }
    if (timer_when < timer_set_for) {
        start_timer(time);
    }
    return true;
}

// The VMM looks when the guest enables interrupts.
void request_attention() {
    __atomic_fetch_or(&pending, pending_attention, __ATOMIC_SEQ_CST);
}

} // namespace previrt::backend
