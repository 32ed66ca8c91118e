// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pci/pci.hpp"

namespace previrt::dp83820 {

inline constexpr unsigned io_bar = 0;
inline constexpr unsigned memory_bar = 1;
inline constexpr std::uint32_t io_bar_bytes = 256;
inline constexpr std::uint32_t memory_bar_bytes = 4096;

// Puts the card's function on bus 0; nullptr as Pci::add(). The registers are at offset 0 of both BARs.
PciFunction* add_function(Pci& pci, unsigned device);

} // namespace previrt::dp83820
