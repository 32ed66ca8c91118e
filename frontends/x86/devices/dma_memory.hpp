// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pci/guest_memory.hpp"

namespace previrt {

// The guest's memory as a card reaches it that masters the bus.
extern const GuestMemory card_memory;

} // namespace previrt
