// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/backend/events.hpp"
#include "backends/xen/domain.hpp"
#include "backends/xen/event_ports.hpp"
#include "backends/xen/layout.hpp"
#include "inplace-vmm/backend/disk.hpp"
#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/processor.hpp"
#include "inplace-vmm/stop.hpp"

#include <bit>

namespace previrt::xen {

namespace {

constexpr unsigned most_ports = 4 + backend::most_disks; // timer, console, xenstore, network
evtchn_port_t ports[most_ports];
unsigned port_count;
std::uint32_t timer;

std::uint32_t bind_interrupt(std::uint32_t number) {
    evtchn_bind_virq bind{};
    bind.virq = number;
    must_succeed(__HYPERVISOR_event_channel_op, "bind_virq", EVTCHNOP_bind_virq, address_of(&bind));
    return bind.port;
}

constexpr unsigned bits = 64; // of a word of the masks

// Returns whether it was set.
bool clear_bit(std::uint64_t& word, std::uint32_t port) {
    const std::uint64_t bit = std::uint64_t{1} << (port % bits);
    return (__atomic_fetch_and(&word, ~bit, __ATOMIC_SEQ_CST) & bit) != 0;
}

// In the vcpu_info: Xen writes it at any time.
vcpu_time_info read_time_info() {
    const volatile vcpu_time_info& live = shared_info.vcpu_info[0].time;
    vcpu_time_info info{};
    std::uint32_t version = 0;
    do {
        version = live.version;
        asm volatile("" : : : "memory");
        info.tsc_timestamp = live.tsc_timestamp;
        info.system_time = live.system_time;
        info.tsc_to_system_mul = live.tsc_to_system_mul;
        info.tsc_shift = live.tsc_shift;
        asm volatile("" : : : "memory");
    } while ((version & 1U) != 0 || live.version != version);
    return info;
}

} // namespace

void listen(std::uint32_t port) {
    if (port_count == most_ports) {
        stop_guest("more ports than were expected:", port_count);
    }
    ports[port_count++] = port;
    clear_bit(shared_info.evtchn_mask[port / bits], port);
}

std::uint32_t allocate_port(std::uint16_t other_domain) {
    evtchn_alloc_unbound allocate{};
    allocate.dom = DOMID_SELF;
    allocate.remote_dom = other_domain;
    must_succeed(__HYPERVISOR_event_channel_op, "alloc_unbound", EVTCHNOP_alloc_unbound,
                 address_of(&allocate));
    return allocate.port;
}

void notify(std::uint32_t port) {
    evtchn_send send{};
    send.port = port;
    ++counters.hypercalls[__HYPERVISOR_event_channel_op];
    hypercall(__HYPERVISOR_event_channel_op, EVTCHNOP_send, address_of(&send));
}

bool wait_for(std::uint32_t port, std::uint64_t longest) {
    evtchn_port_t one = port;
    sched_poll poll{};
    poll.ports.p = &one;
    poll.nr_ports = 1;
    poll.timeout = backend::now() + longest;
    // The first event of any other port ends the poll too.
    do {
        hypercall(__HYPERVISOR_sched_op, SCHEDOP_poll, address_of(&poll));
        if (clear_bit(shared_info.evtchn_pending[port / bits], port)) {
            return true;
        }
    } while (backend::now() < poll.timeout);
    return false;
}

void start_events() {
    timer = bind_interrupt(VIRQ_TIMER);
    listen(timer);
    hypercall(__HYPERVISOR_vcpu_op, VCPUOP_stop_periodic_timer, 0, 0);
    const std::uint32_t console =
        domain.is_initial ? bind_interrupt(VIRQ_CONSOLE) : domain.info->console.domU.evtchn;
    if (console != 0) {
        listen(console);
    }
}

} // namespace previrt::xen

namespace previrt::backend {

using namespace xen;

namespace {

std::uint64_t scaled(std::uint64_t ticks, const vcpu_time_info& info) {
    ticks = info.tsc_shift >= 0 ? ticks << static_cast<unsigned>(info.tsc_shift)
                                : ticks >> static_cast<unsigned>(-info.tsc_shift);
    return processor::multiply_and_shift_32(ticks, info.tsc_to_system_mul);
}

} // namespace

std::uint64_t interrupt_cell() {
    return shared_info_address + 1;
}

std::uint64_t now() {
    const vcpu_time_info info = read_time_info();
    const std::uint64_t time =
        info.system_time + scaled(processor::read_time_stamp() - info.tsc_timestamp, info);
    // Devices must not see time go back when Xen adjusts its scale.
    static std::uint64_t latest;
    latest = time > latest ? time : latest;
    return latest;
}

std::uint64_t time_of_ticks(std::uint64_t ticks) {
    constexpr std::uint64_t many = std::uint64_t{1} << 58U; // years
    constexpr std::uint64_t lost = 2;                       // by the shift, and by the product
    return scaled(ticks < many ? ticks : many, read_time_info()) + lost;
}

std::uint64_t epoch() {
    constexpr std::uint64_t second = 1'000'000'000;
    const volatile shared_info_t& live = xen::shared_info;
    std::uint32_t version = 0;
    std::uint64_t nanoseconds = 0;
    do {
        version = live.wc_version;
        asm volatile("" : : : "memory");
        nanoseconds = (((std::uint64_t{live.wc_sec_hi} << 32U) | live.wc_sec) * second) + live.wc_nsec;
        asm volatile("" : : : "memory");
    } while ((version & 1U) != 0 || live.wc_version != version);
    return nanoseconds;
}

std::uint64_t time_stamp_khz() {
    const vcpu_time_info info = read_time_info();
    const std::uint64_t khz = (std::uint64_t{1'000'000} << 32U) / info.tsc_to_system_mul;
    return info.tsc_shift >= 0 ? khz >> static_cast<unsigned>(info.tsc_shift)
                               : khz << static_cast<unsigned>(-info.tsc_shift);
}

namespace {

std::optional<std::uint64_t> timer_when;

void start_timer(std::uint64_t when) {
    vcpu_set_singleshot_timer timer_at{};
    timer_at.timeout_abs_ns = when;
    must_succeed(__HYPERVISOR_vcpu_op, "set_singleshot_timer", VCPUOP_set_singleshot_timer, 0,
                 address_of(&timer_at));
}

} // namespace

void set_timer(std::optional<std::uint64_t> when) {
    timer_when = when;
    if (!when) {
        hypercall(__HYPERVISOR_vcpu_op, VCPUOP_stop_singleshot_timer, 0, 0);
        return;
    }
    start_timer(*when);
}

// Events are masked: any event that becomes pending ends the wait.
void idle() {
    sched_poll poll{};
    poll.ports.p = ports;
    poll.nr_ports = port_count;
    hypercall(__HYPERVISOR_sched_op, SCHEDOP_poll, address_of(&poll));
}

bool take_events() {
    vcpu_info& info = xen::shared_info.vcpu_info[0];
    if (info.evtchn_upcall_pending == 0 && info.evtchn_pending_sel == 0) {
        return false;
    }
    __atomic_store_n(&info.evtchn_upcall_pending, 0, __ATOMIC_SEQ_CST);
    bool timer_came = false;
    std::uint64_t words = __atomic_exchange_n(&info.evtchn_pending_sel, 0, __ATOMIC_SEQ_CST);
    while (words != 0) {
        const auto word = static_cast<unsigned>(std::countr_zero(words));
        words &= words - 1;
        const std::uint64_t came =
            __atomic_exchange_n(&xen::shared_info.evtchn_pending[word], 0, __ATOMIC_SEQ_CST);
        timer_came = timer_came || (timer / bits == word && (came >> (timer % bits) & 1U) != 0);
    }
    // Xen's clock may be ahead of the time that it last told the VMM: then the timer has expired too early.
    if (timer_came && timer_when && *timer_when > now()) {
        start_timer(*timer_when);
    }
    return true;
}

void request_attention() {
    __atomic_store_n(&xen::shared_info.vcpu_info[0].evtchn_upcall_pending, 1, __ATOMIC_SEQ_CST);
}

} // namespace previrt::backend
