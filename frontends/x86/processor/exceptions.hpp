// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// Raised while the VMM acts for the guest: delivered when the VMM is done with what it was doing, with the
// guest's registers as they are then. Two at once combine as the processor combines them (contributory
// exceptions and page faults to a double fault, that to a shutdown).
void raise_exception(std::uint8_t vector, std::uint32_t error_code = 0);
void raise_page_fault(std::uint64_t address, std::uint32_t error_code);
// A trap: RIP is behind what was stepped.
void raise_single_step();
[[nodiscard]] bool exception_is_raised();

// Delivers what was raised.
void deliver_raised();
// An external interrupt, or int n, int3, int1 where the instruction is done.
void deliver_interrupt(std::uint8_t vector);
void deliver_software_interrupt(std::uint8_t vector);

} // namespace previrt
