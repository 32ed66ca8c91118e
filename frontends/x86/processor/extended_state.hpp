// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instructions/instruction.hpp"
#include "previrt/site_kinds.hpp"

namespace previrt {

// XSAVE, XSAVEOPT and XRSTOR, which level 3 executes with the real XCR0. While that differs from the guest's
// XCR0, their sites call the VMM; otherwise the sites stay unchanged.
bool is_extended_state(SiteKind kind);
bool extended_state_is_native();
// CR4.OSXSAVE or XCR0 has changed.
void follow_extended_control();

// Executes one with the guest's CPUID and XCR0: the guest continues with the instruction itself and a reduced
// mask, or gets the exception.
void execute_extended_state(const Instruction& instruction);

// The guest's user mode sees vector registers that its kernel has not enabled and does not save.
extern bool some_state_is_lost;
void say_that_state_is_lost();

} // namespace previrt
