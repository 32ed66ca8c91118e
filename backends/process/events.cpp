// SPDX-License-Identifier: BSD-2-Clause
// Each host process has a timer; that of the current process is set. One word tells of all events.
#include "inplace-vmm/backend/events.hpp"
#include "backends/common/monitor_link/clock.hpp"
#include "backends/process/address_space_processes.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/processors.hpp"
#include "backends/process/stolen_time.hpp"
#include "backends/process/system_call.hpp"
#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/stop.hpp"

namespace previrt::process {

extern "C" {
extern std::uint32_t pending; // bits of these; entry.S
extern std::uint8_t interrupts_disabled;
}

namespace {

constexpr std::uint32_t attention_pending = 2;
constexpr std::uint64_t second = 1'000'000'000;

struct Time {
    std::uint64_t seconds;
    std::uint64_t nanoseconds;
};

[[gnu::section("processor")]] std::uint64_t timer_when = no_timer;

Time time_until(std::uint64_t when) {
    const std::uint64_t now = backend::now();
    const std::uint64_t left = when > now ? when - now : 1;
    return {.seconds = left / second, .nanoseconds = left % second};
}

// The first timer of a process has this number.
constexpr std::uint64_t own_timer = 0;

void set_own_timer(std::uint64_t when) {
    current_host().timer_set_for = when;
    ++counters.hypercalls[call_set_timer];
    const Time times[] = {{.seconds = 0, .nanoseconds = 0}, when == no_timer ? Time{} : time_until(when)};
    call_host(call_timer_settime, {.first = own_timer, .third = address_of(&times)});
}

// The futex's timeout wakes a sleeping process: a signal at the same time would cost more than everything
// else.
void stop_own_timer() {
    const std::uint64_t set_for = current_host().timer_set_for;
    if (set_for != no_timer && set_for > backend::now()) {
        set_own_timer(no_timer);
    }
}

} // namespace

void start_timer_of_host() {
    constexpr std::uint64_t monotonic = 1;
    struct {
        std::uint64_t value;
        std::uint32_t signal;
        std::uint32_t notify; // 0: by the signal
        std::uint64_t reserved[6];
    } const event{.value = 0, .signal = timer_signal, .notify = 0, .reserved = {}};
    static_assert(sizeof(event) == 64);
    std::uint32_t number = 0;
    if (call_host(call_timer_create,
                  {.first = monotonic, .second = address_of(&event), .third = address_of(&number)}) != 0 ||
        number != own_timer) {
        stop_guest("the host gives no timer");
    }
}

// The timer of the previous process may still expire; the current process ignores it.
void follow_timer() {
    if (timer_when != no_timer && current_host().timer_set_for != timer_when) {
        count_crossing(call_set_timer);
        set_own_timer(timer_when);
    }
}

} // namespace previrt::process

namespace previrt::backend {

using namespace process;

std::uint64_t interrupt_cell() {
    return reinterpret_cast<std::uint64_t>(&interrupts_disabled);
}

void set_timer(std::optional<std::uint64_t> when) {
    timer_when = when.value_or(no_timer);
    follow_timer();
}

void idle() {
    if (fall_asleep(pending)) {
        stop_own_timer();
        ++counters.hypercalls[call_wait];
        const Time time = time_until(timer_when);
        const std::uint64_t since = now();
        sleep_on(pending, timer_when == no_timer ? nullptr : &time);
        exclude_sleep(since);
    }
    wake_up();
    if (timer_when <= now()) {
        timer_when = no_timer; // it has expired: a process that sleeps again waits for another
    }
    __atomic_fetch_or(&pending, event_pending, __ATOMIC_SEQ_CST);
}

bool take_events() {
    if (__atomic_load_n(&pending, __ATOMIC_RELAXED) == 0) {
        return false;
    }
    const std::uint32_t came = __atomic_exchange_n(&pending, 0, __ATOMIC_SEQ_CST);
    // The host's timer uses another clock, so it may have expired too early. And a sleeping process has
    // stopped it.
    if ((came & event_pending) != 0 && timer_when != no_timer && timer_when > now()) {
        count_crossing(call_set_timer);
        set_own_timer(timer_when);
    }
    return true;
}

// The VMM looks when the guest enables interrupts.
void request_attention() {
    __atomic_fetch_or(&pending, attention_pending, __ATOMIC_SEQ_CST);
}

} // namespace previrt::backend
