// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pci/guest_memory.hpp"

namespace previrt {

// The guest's memory, for a device that masters the bus.
extern const GuestMemory dma_memory;

} // namespace previrt
