// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// Raises an exception while the VMM acts for the guest. It is delivered when the VMM has finished the action,
// with the guest's registers at that time. Two exceptions combine as on a processor (contributory exceptions
// and page faults to a double fault, a further one to a shutdown).
void raise_exception(std::uint8_t vector, std::uint32_t error_code = 0);
void raise_page_fault(std::uint64_t address, std::uint32_t error_code);
// A trap: RIP is behind the stepped instruction.
void raise_single_step();
[[nodiscard]] bool exception_is_raised();

// Delivers the raised exception.
void deliver_raised();
// An external interrupt. For int n, int3 and int1, RIP must be behind the instruction.
void deliver_interrupt(std::uint8_t vector);
void deliver_software_interrupt(std::uint8_t vector);

} // namespace previrt
