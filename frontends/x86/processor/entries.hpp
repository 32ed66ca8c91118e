// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// The entries into the VMM. The back-end has saved the guest's registers and interrupt flag into the Vcpu. It
// calls one of these, and then prepare_return.

// A rewritten site called; `return_address` is what the call pushed.
void site_called(std::uint64_t return_address);
// The rewritten site at `address` jumped.
void site_jumped(std::uint64_t address);
// The processor raised an exception; the registers are the guest's.
void exception_taken(std::uint8_t vector, std::uint32_t error_code, std::uint64_t fault_address);
// `syscall` in user mode; RIP is behind it.
void system_call_taken(bool compatibility_mode);
// Likewise `sysenter`, which tells its handler no address.
void sysenter_taken();
// An asynchronous event came.
void event_taken();

// The back-end handles an entry of the guest's present instruction by itself, and counts it.
void begin_entry_here();

// Delivers pending exceptions and interrupts. The guest then continues with the Vcpu's registers, at
// vcpu.cpl.
void prepare_return();

} // namespace previrt
