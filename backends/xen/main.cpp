// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/domain.hpp"
#include "backends/xen/event_ports.hpp"
#include "backends/xen/processors.hpp"
#include "frontends/x86/linux_boot/guest_start.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "frontends/x86/processor/entries.hpp"
#include "inplace-vmm/backend/console.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/print.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt::xen {

void must_succeed(unsigned number, const char* what, std::uint64_t first, std::uint64_t second,
                  std::uint64_t third, std::uint64_t fourth) {
    constexpr unsigned counted = sizeof(counters.hypercalls) / sizeof(counters.hypercalls[0]);
    ++counters.hypercalls[number % counted];
    count_crossing(number);
    const std::int64_t result = hypercall(number, first, second, third, fourth);
    if (result < 0) {
        Print() << "previrt-vmm: Xen refused the hypercall " << what << '\n';
        stop_guest("a hypercall failed, with error", static_cast<std::uint64_t>(-result));
    }
}

namespace {

[[noreturn]] void shut_down(unsigned reason) {
    sched_shutdown shutdown{};
    shutdown.reason = reason;
    for (;;) {
        hypercall(__HYPERVISOR_sched_op, SCHEDOP_shutdown, address_of(&shutdown));
    }
}

} // namespace

extern "C" {
std::uint8_t return_interrupted();
[[noreturn]] void xen_start(const start_info* info);
[[noreturn]] void enter_guest();

void xen_start(const start_info* info) {
    domain.is_initial = (info->flags & SIF_INITDOMAIN) != 0;
    shared_info.vcpu_info[0].evtchn_upcall_mask = 1;
    start_address_space(info);
    start_boot_processor();
    start_tables();
    start_console();
    start_entries();
    start_segments();
    start_events();
    start_shadow_tables(take_memory);
    start_network();
    start_disks();
    start_processors();
    load_guest(package());
    enter_guest();
}
}

} // namespace previrt::xen

namespace previrt::backend {

// dom0 must not switch off a machine that other domains use; QEMU ends at a reset.
void power_off() {
    xen::shut_down(xen::domain.is_initial ? SHUTDOWN_reboot : SHUTDOWN_poweroff);
}

void reboot() {
    xen::shut_down(SHUTDOWN_reboot);
}

void crash() {
    xen::shut_down(SHUTDOWN_crash);
}

} // namespace previrt::backend
