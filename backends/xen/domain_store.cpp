// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/domain_store.hpp"

#include "backends/xen/domain.hpp"
#include "backends/xen/event_ports.hpp"

namespace previrt::xen {

namespace {

constinit Xenstore store;
bool is_started;

} // namespace

Xenstore* domain_store() {
    if (domain.is_initial || domain.info->store_mfn == 0) {
        return nullptr;
    }
    if (!is_started) {
        const auto* const pages = reinterpret_cast<const std::uint64_t*>(MACH2PHYS_VIRT_START);
        store.start(
            *reinterpret_cast<xenstore_domain_interface*>(page_pointer(pages[domain.info->store_mfn])),
            domain.info->store_evtchn);
        listen(domain.info->store_evtchn);
        is_started = true;
    }
    return &store;
}

} // namespace previrt::xen
