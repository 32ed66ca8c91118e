// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/xen/other_end.hpp"

#include "backends/xen/event_ports.hpp"

namespace previrt::xen {

namespace fake {

std::function<bool()> other_domain;
unsigned notifications;

} // namespace fake

void notify(std::uint32_t /*port*/) {
    ++fake::notifications;
}

bool wait_for(std::uint32_t /*port*/, std::uint64_t /*longest*/) {
    return fake::other_domain && fake::other_domain();
}

} // namespace previrt::xen
