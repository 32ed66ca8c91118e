// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// Where nobody answers on a PC's buses, reads are all ones and writes are lost. Each access is counted, each
// place told of once. With --strict such an access ends the guest instead.

// An access to a port, and to the physical address of something outside RAM. `what` is how it would end.
void float_port(std::uint16_t port, const char* what);
void float_memory(std::uint64_t physical, const char* what);

} // namespace previrt
