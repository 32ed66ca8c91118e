// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instructions/instruction.hpp"

#include <cstdint>

namespace previrt {

// mmio_read, mmio_write: of a device's registers, or of RAM. Takes effect or raises an exception.
void execute_annotated_access(const Instruction& instruction);

// The instruction at RIP faulted at `address`, which is a device's: it is done, or raises an exception. One
// that is not modelled stops the guest.
void execute_device_access(std::uint64_t address, bool is_write);
// Likewise, and it is RAM that the back-end cannot have there.
void execute_unmapped_access(std::uint64_t address);

} // namespace previrt
