// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pci/guest_memory.hpp"

namespace previrt {

// The guest's memory, for a card that masters the bus.
extern const GuestMemory card_memory;

} // namespace previrt
