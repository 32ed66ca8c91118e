// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instructions/instruction.hpp"

#include <cstdint>

namespace previrt {

// mmio_read, mmio_write: an access to a device register, or to RAM. Takes effect or raises an exception.
void execute_annotated_access(const Instruction& instruction);

// The instruction at RIP faulted at `address`, which belongs to a device. Emulates it, or raises an
// exception. An instruction that is not modelled stops the guest.
void execute_device_access(std::uint64_t address, bool is_write);
// The same for RAM that the back-end cannot map at this address.
void execute_unmapped_access(std::uint64_t address);

} // namespace previrt
