// SPDX-License-Identifier: BSD-2-Clause
// dom0 has Xen's own console; any other domain a ring that it shares with dom0.
#include "inplace-vmm/backend/console.hpp"
#include "backends/xen/domain.hpp"
#include "backends/xen/event_ports.hpp"
#include "backends/xen/layout.hpp"

extern "C" {
#include <xen/io/console.h>
}

namespace previrt::xen {

namespace {

xencons_interface* ring;

void write_ring(std::string_view text) {
    while (!text.empty()) {
        const std::uint32_t consumed = __atomic_load_n(&ring->out_cons, __ATOMIC_ACQUIRE);
        std::uint32_t produced = ring->out_prod;
        const std::uint32_t before = produced;
        while (!text.empty() && produced - consumed < sizeof(ring->out)) {
            ring->out[MASK_XENCONS_IDX(produced++, ring->out)] = text.front();
            text.remove_prefix(1);
        }
        __atomic_store_n(&ring->out_prod, produced, __ATOMIC_RELEASE);
        if (produced != before) {
            notify(domain.info->console.domU.evtchn);
        } else {
            hypercall(__HYPERVISOR_sched_op, SCHEDOP_yield, 0); // the ring is full: dom0 has to read first
        }
    }
}

std::optional<std::uint8_t> read_ring() {
    const std::uint32_t consumed = ring->in_cons;
    if (consumed == __atomic_load_n(&ring->in_prod, __ATOMIC_ACQUIRE)) {
        return {};
    }
    const auto character = static_cast<std::uint8_t>(ring->in[MASK_XENCONS_IDX(consumed, ring->in)]);
    __atomic_store_n(&ring->in_cons, consumed + 1, __ATOMIC_RELEASE);
    notify(domain.info->console.domU.evtchn);
    return character;
}

} // namespace

// Before it, only dom0 can print.
void start_console() {
    if (domain.is_initial) {
        return;
    }
    const auto* const pages = reinterpret_cast<const std::uint64_t*>(MACH2PHYS_VIRT_START);
    ring = reinterpret_cast<xencons_interface*>(page_pointer(pages[domain.info->console.domU.mfn]));
}

} // namespace previrt::xen

namespace previrt::backend {

void write_console(std::string_view text) {
    if (xen::ring != nullptr) {
        xen::write_ring(text);
    } else if (!text.empty()) {
        xen::hypercall(__HYPERVISOR_console_io, CONSOLEIO_write, text.size(), xen::address_of(&text.front()));
    }
}

std::optional<std::uint8_t> read_console() {
    if (xen::ring != nullptr) {
        return xen::read_ring();
    }
    char character = 0;
    if (xen::hypercall(__HYPERVISOR_console_io, CONSOLEIO_read, 1, xen::address_of(&character)) != 1) {
        return {};
    }
    return static_cast<std::uint8_t>(character);
}

} // namespace previrt::backend
