// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// Event channels: this domain's ends of them.
namespace previrt::xen {

// A notification of this port is an event, and ends idle().
void listen(std::uint32_t port);
// A port that another domain may bind to.
std::uint32_t allocate_port(std::uint16_t other_domain);
void notify(std::uint32_t port);
// Waits for a notification, which may have come before. False: none came within `longest` nanoseconds.
bool wait_for(std::uint32_t port, std::uint64_t longest);

} // namespace previrt::xen
