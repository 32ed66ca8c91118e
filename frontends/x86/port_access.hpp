// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// Of 1, 2 or 4 bytes. A port that is not modelled stops the guest.
std::uint32_t read_port(std::uint16_t port, unsigned width);
void write_port(std::uint16_t port, unsigned width, std::uint32_t value);

} // namespace previrt
