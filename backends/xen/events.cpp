// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/backend/events.hpp"
#include "backends/common/ring3/flag_byte_entries.hpp"
#include "backends/xen/domain.hpp"
#include "backends/xen/event_ports.hpp"
#include "backends/xen/layout.hpp"
#include "backends/xen/processors.hpp"
#include "inplace-vmm/backend/disk.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/processor.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace previrt::xen {

// Xen refuses one that crosses a page.
extern "C" {
[[gnu::section("processor")]] alignas(sizeof(vcpu_info_t)) vcpu_info_t vcpu_information;
}
static_assert(sizeof(vcpu_info_t) == 64);

namespace {

constexpr unsigned bits = 64; // of a word of the masks
constexpr unsigned words = 64;

// Those that the boot processor waits for: timer, calls, console, xenstore, network, disks.
constexpr unsigned most_ports = 5 + backend::most_disks;
evtchn_port_t ports[most_ports];
unsigned port_count;

[[gnu::section("processor")]] std::uint32_t timer;
[[gnu::section("processor")]] std::uint32_t call;             // by other processors
[[gnu::section("processor")]] std::uint64_t own_ports[words]; // bits
[[gnu::section("processor")]] constinit std::optional<std::uint64_t> timer_when;
[[gnu::section("processor")]] std::uint32_t noted; // an event, by another processor

std::uint32_t bind_interrupt(std::uint32_t number, unsigned processor) {
    evtchn_bind_virq bind{};
    bind.virq = number;
    bind.vcpu = processor;
    must_succeed(__HYPERVISOR_event_channel_op, "bind_virq", EVTCHNOP_bind_virq, address_of(&bind));
    return bind.port;
}

std::uint32_t bind_calls(unsigned processor) {
    evtchn_bind_ipi bind{};
    bind.vcpu = processor;
    must_succeed(__HYPERVISOR_event_channel_op, "bind_ipi", EVTCHNOP_bind_ipi, address_of(&bind));
    return bind.port;
}

// Returns whether it was set.
bool clear_bit(std::uint64_t& word, std::uint32_t port) {
    const std::uint64_t bit = std::uint64_t{1} << (port % bits);
    return (__atomic_fetch_and(&word, ~bit, __ATOMIC_SEQ_CST) & bit) != 0;
}

constexpr std::uint64_t no_end = 0; // of a poll

void poll_port(evtchn_port_t port, std::uint64_t end) {
    sched_poll poll{};
    poll.ports.p = &port;
    poll.nr_ports = 1;
    poll.timeout = end;
    hypercall(__HYPERVISOR_sched_op, SCHEDOP_poll, address_of(&poll));
}

// Xen tells only the processor to which the port is bound.
void own(unsigned processor, std::uint32_t port) {
    of_processor(processor, own_ports)[port / bits] |= std::uint64_t{1} << (port % bits);
    clear_bit(shared_info.evtchn_mask[port / bits], port);
}

// Xen writes it at any time.
vcpu_time_info read_time_info() {
    const volatile vcpu_time_info& live = vcpu_information.time;
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
    own(0, port);
}

std::uint32_t allocate_port(std::uint16_t other_domain) {
    evtchn_alloc_unbound allocate{};
    allocate.dom = DOMID_SELF;
    allocate.remote_dom = other_domain;
    must_succeed(__HYPERVISOR_event_channel_op, "alloc_unbound", EVTCHNOP_alloc_unbound,
                 address_of(&allocate));
    return allocate.port;
}

namespace {

void send_event(std::uint32_t port) {
    evtchn_send send{};
    send.port = port;
    ++counters.hypercalls[__HYPERVISOR_event_channel_op];
    hypercall(__HYPERVISOR_event_channel_op, EVTCHNOP_send, address_of(&send));
}

} // namespace

void notify(std::uint32_t port) {
    count_crossing(__HYPERVISOR_event_channel_op);
    send_event(port);
}

bool wait_for(std::uint32_t port, std::uint64_t longest) {
    const std::uint64_t end = backend::now() + longest;
    // The first event of any other port ends the poll too.
    do {
        poll_port(port, end);
        if (clear_bit(shared_info.evtchn_pending[port / bits], port)) {
            return true;
        }
    } while (backend::now() < end);
    return false;
}

void start_events() {
    timer = bind_interrupt(VIRQ_TIMER, 0);
    listen(timer);
    hypercall(__HYPERVISOR_vcpu_op, VCPUOP_stop_periodic_timer, 0, 0);
    if (backend::processor_count() != 1) {
        call = bind_calls(0);
        listen(call);
    }
    const std::uint32_t console =
        domain.is_initial ? bind_interrupt(VIRQ_CONSOLE, 0) : domain.info->console.domU.evtchn;
    if (console != 0) {
        listen(console);
    }
}

void bind_ports(unsigned processor) {
    std::ranges::fill(of_processor(processor, own_ports), 0);
    of_processor(processor, timer) = bind_interrupt(VIRQ_TIMER, processor);
    of_processor(processor, call) = bind_calls(processor);
    of_processor(processor, timer_when).reset();
    own(processor, of_processor(processor, timer));
    own(processor, of_processor(processor, call));
    hypercall(__HYPERVISOR_vcpu_op, VCPUOP_stop_periodic_timer, processor, 0);
}

void call_processor(unsigned processor) {
    send_event(of_processor(processor, call)); // not counted: the caller may have given the VMM away
}

void wait_for_call() {
    ++counters.hypercalls[__HYPERVISOR_sched_op];
    poll_port(call, no_end);
    // take_events() still sees it by the word of all ports.
    clear_bit(shared_info.evtchn_pending[call / bits], call);
}

namespace {

bool event_is_noted() {
    return __atomic_load_n(&noted, __ATOMIC_SEQ_CST) != 0;
}

void set_upcall_pending() {
    __atomic_store_n(&vcpu_information.evtchn_upcall_pending, 1, __ATOMIC_SEQ_CST);
}

} // namespace

void see_noted_events() {
    if (event_is_noted()) {
        set_upcall_pending();
    }
}

} // namespace previrt::xen

namespace previrt {

// Not by Xen's own byte: while that is set, Xen does not interrupt the guest.
void note_event(unsigned processor) {
    __atomic_store_n(&of_processor(processor, xen::noted), 1U, __ATOMIC_SEQ_CST);
}

} // namespace previrt

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
    return address_of(&vcpu_information.evtchn_upcall_mask);
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

void start_timer(std::uint64_t when) {
    vcpu_set_singleshot_timer timer_at{};
    timer_at.timeout_abs_ns = when;
    must_succeed(__HYPERVISOR_vcpu_op, "set_singleshot_timer", VCPUOP_set_singleshot_timer, vcpu.number,
                 address_of(&timer_at));
}

bool event_is_pending() {
    return __atomic_load_n(&vcpu_information.evtchn_upcall_pending, __ATOMIC_SEQ_CST) != 0;
}

// Events are masked: any event that becomes pending ends the wait.
void poll_boot_processors_ports() {
    sched_poll poll{};
    poll.ports.p = ports;
    poll.nr_ports = port_count;
    hypercall(__HYPERVISOR_sched_op, SCHEDOP_poll, address_of(&poll));
}

// With more than one port, each event of the domain would end the wait. The time stands for the timer's port.
void poll_own_ports() {
    poll_port(call, timer_when.value_or(no_end));
}

} // namespace

void set_timer(std::optional<std::uint64_t> when) {
    timer_when = when;
    if (!when) {
        hypercall(__HYPERVISOR_vcpu_op, VCPUOP_stop_singleshot_timer, vcpu.number, 0);
        return;
    }
    start_timer(*when);
}

void idle() {
    if (processor_count() == 1) {
        poll_boot_processors_ports();
        return;
    }
    const bool sleeps = fall_asleep(noted);
    while (sleeps && !event_is_noted() && !event_is_pending()) {
        if (vcpu.number == 0) {
            poll_boot_processors_ports();
        } else {
            poll_own_ports();
        }
    }
    wake_up();
}

bool take_events() {
    vcpu_info& info = vcpu_information;
    if (info.evtchn_upcall_pending == 0 && info.evtchn_pending_sel == 0 && noted == 0) {
        return false;
    }
    if (noted != 0) {
        __atomic_store_n(&noted, 0, __ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&info.evtchn_upcall_pending, 0, __ATOMIC_SEQ_CST);
    bool timer_came = false;
    std::uint64_t selected = __atomic_exchange_n(&info.evtchn_pending_sel, 0, __ATOMIC_SEQ_CST);
    while (selected != 0) {
        const auto word = static_cast<unsigned>(std::countr_zero(selected));
        selected &= selected - 1;
        // Another processor's ports are its own to clear: it may be about to wait for one.
        std::uint64_t& pending = xen::shared_info.evtchn_pending[word];
        const std::uint64_t came = __atomic_load_n(&pending, __ATOMIC_SEQ_CST) & own_ports[word];
        __atomic_fetch_and(&pending, ~came, __ATOMIC_SEQ_CST);
        timer_came = timer_came || (timer / bits == word && (came >> (timer % bits) & 1U) != 0);
    }
    if (timer_came && timer_when) {
        // Xen's clock may be ahead of the time that it last told the VMM: then the timer has expired too
        // early.
        if (*timer_when > now()) {
            start_timer(*timer_when);
        } else {
            timer_when.reset(); // a wait until then would end at once
        }
    }
    return true;
}

void request_attention() {
    set_upcall_pending();
}

} // namespace previrt::backend
