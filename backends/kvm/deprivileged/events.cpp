// SPDX-License-Identifier: BSD-2-Clause
// A timer in the local APIC. One word tells of all events: the timer's interrupt and the monitor set bits of
// it.
#include "inplace-vmm/backend/events.hpp"
#include "backends/common/monitor_link/clock.hpp"
#include "backends/kvm/deprivileged/domain.hpp"
#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/counters.hpp"

namespace previrt::kvm {

extern "C" {
extern std::uint32_t pending; // bits of these
extern std::uint8_t interrupts_disabled;
}

namespace {

enum LocalApic : std::uint64_t {
    end_of_interrupt = 0xb0,
    spurious_vector = 0xf0,
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

constexpr std::uint64_t never = ~std::uint64_t{0};
// A guest that only computes, without a timer, still has to look for the monitor's events.
constexpr std::uint64_t looks_every = 10'000'000;

std::uint64_t timer_when = never;
std::uint64_t timer_set_for = never;

void write_local_apic(std::uint64_t place, std::uint32_t value) {
    *reinterpret_cast<volatile std::uint32_t*>(local_apic_address + place) = value;
}

// The timer counts nanoseconds: an early interrupt starts the rest.
void start_timer(std::uint64_t now) {
    const std::uint64_t left = timer_when > now ? timer_when - now : 1;
    const std::uint64_t next = left < looks_every ? left : looks_every;
    timer_set_for = now + next;
    write_local_apic(timer_initial, static_cast<std::uint32_t>(next));
}

} // namespace

void start_events() {
    monitored::start_clock(handover.clock);
    write_local_apic(spurious_vector, software_enable | spurious);
    write_local_apic(timer_divide, divide_by_1);
    write_local_apic(timer_entry, event_vector);
}

void start_looking() {
    start_timer(backend::now());
}

} // namespace previrt::kvm

namespace previrt::backend {

using namespace kvm;

std::uint64_t interrupt_cell() {
    return reinterpret_cast<std::uint64_t>(&interrupts_disabled);
}

void set_timer(std::optional<std::uint64_t> when) {
    timer_when = when.value_or(never);
    const std::uint64_t time = now();
    if (timer_when < timer_set_for || timer_set_for <= time) {
        start_timer(time);
    }
}

void idle() {
    ++counters.hypercalls[call_wait];
    const std::uint64_t time = now();
    const std::uint64_t left = timer_when > time ? timer_when - time : 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST); // as for every doorbell
    *reinterpret_cast<volatile std::uint64_t*>(doorbell_address + doorbell_idle) =
        timer_when == never ? never : left;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

bool take_events() {
    if (__atomic_load_n(&pending, __ATOMIC_RELAXED) == 0) {
        return false;
    }
    if ((__atomic_exchange_n(&pending, 0, __ATOMIC_SEQ_CST) & pending_event) != 0) {
        write_local_apic(end_of_interrupt, 0); // the next may come at once
        const std::uint64_t time = now();
        timer_when = timer_when > time ? timer_when : never;
        start_timer(time);
    }
    return true;
}

// The VMM looks when the guest enables interrupts.
void request_attention() {
    __atomic_fetch_or(&pending, pending_attention, __ATOMIC_SEQ_CST);
}

} // namespace previrt::backend
