// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// The ways into the VMM. The back-end has saved the guest's registers into the Vcpu, and its interrupt flag;
// it calls one of these, and then prepare_return.

// A rewritten site called; `return_address` is what the call pushed.
void site_called(std::uint64_t return_address);
// The rewritten site at `address` jumped.
void site_jumped(std::uint64_t address);
// The processor raised an exception, with the registers as the guest had them.
void exception_taken(std::uint8_t vector, std::uint32_t error_code, std::uint64_t fault_address);
// `syscall` in user mode; RIP is behind it.
void system_call_taken(bool compatibility_mode);
// Something asynchronous has come.
void event_taken();

// Delivers what is due. The registers are then those to go on with, at vcpu.cpl.
void prepare_return();

} // namespace previrt
