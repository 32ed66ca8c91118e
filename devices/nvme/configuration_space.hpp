// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pci/pci.hpp"

#include <cstdint>

namespace previrt::nvme {

inline constexpr unsigned memory_bar = 0;
inline constexpr std::uint32_t memory_bar_bytes = 0x4000;
// No maker has it, so that no driver takes the controller for one with defects.
inline constexpr std::uint16_t pci_vendor = 0x1234;

// Puts the controller's function on bus 0; nullptr as Pci::add().
PciFunction* add_function(Pci& pci, unsigned device);

} // namespace previrt::nvme
