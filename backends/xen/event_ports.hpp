// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/interface.hpp"

#include <cstdint>

// Event channels: this domain's ends of them.
namespace previrt::xen {

extern "C" vcpu_info_t vcpu_information; // the processor's own

// A notification of this port is an event of the boot processor, and ends its idle().
void listen(std::uint32_t port);
// A port that another domain may bind to.
std::uint32_t allocate_port(std::uint16_t other_domain);
void notify(std::uint32_t port);
// Waits for a notification, which may have come before. False: none came within `longest` nanoseconds.
bool wait_for(std::uint32_t port, std::uint64_t longest);

// The ports of another processor, which begin to be its events.
void bind_ports(unsigned processor);
// Makes it enter the VMM, or ends its idle() or wait_for_call(). A guest with interrupts disabled enters the
// VMM when it enables them.
void call_processor(unsigned processor);
// Returns at a call of this processor, or before.
void wait_for_call();
// Called when another processor may have noted an event since the last take_events(): the guest goes on, and
// sees it as soon as its interrupts are enabled.
void see_noted_events();

} // namespace previrt::xen
