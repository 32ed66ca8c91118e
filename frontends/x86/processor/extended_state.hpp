// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instructions/instruction.hpp"
#include "previrt/site_kinds.hpp"

namespace previrt {

// XSAVE, XSAVEOPT and XRSTOR, which a level 3 executes with the XCR0 that the processor has in force. While
// that is not the guest's, their sites call the VMM; otherwise they stay as they are.
bool is_extended_state(SiteKind kind);
bool extended_state_is_native();
// CR4.OSXSAVE or XCR0 has changed.
void follow_extended_control();

// What CPUID and XCR0 say of the guest's processor: the guest goes on with the instruction itself, its mask
// cut down, or with the exception.
void execute_extended_state(const Instruction& instruction);

// The guest's user mode sees vector registers that its kernel has not enabled, and does not keep.
extern bool some_state_is_lost;
void say_that_state_is_lost();

} // namespace previrt
