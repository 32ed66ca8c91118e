// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// At addresses that no device claims on a PC's buses, reads are all ones and writes are lost. Each access is
// counted; each address is reported once. With --strict such an access ends the guest instead.

// An access to a port, and to a physical address outside RAM. `what` is the message if it ends the guest.
void float_port(std::uint16_t port, const char* what);
void float_memory(std::uint64_t physical, const char* what);

} // namespace previrt
