// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// Event channels: this domain's ends of them.
namespace previrt::xen {

// What comes there is an event, and ends idle().
void listen(std::uint32_t port);
// A port that another domain may bind to.
std::uint32_t allocate_port(std::uint16_t other_domain);
void notify(std::uint32_t port);
// Until something comes there, which may have been before. False: nothing did for so many nanoseconds.
bool wait_for(std::uint32_t port, std::uint64_t longest);

} // namespace previrt::xen
