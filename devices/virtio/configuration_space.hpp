// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pci/pci.hpp"

namespace previrt::virtio {

// The registers are in I/O space, so that a guest's RAM may have any size.
inline constexpr unsigned io_bar = 0;
inline constexpr std::uint32_t io_bar_bytes = 128;

// By the specification's numbers.
enum class Kind : std::uint8_t { console = 3, balloon = 5, vsock = 19, file_system = 26 };

// Puts a device's function on bus 0; nullptr as Pci::add(). `configuration_bytes` are the device's own
// registers.
PciFunction* add_function(Pci& pci, unsigned device, Kind kind, std::uint32_t configuration_bytes);

} // namespace previrt::virtio
