// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instructions/instruction.hpp"

namespace previrt {

// Emulates the instruction. Afterwards RIP is at the next instruction, or an exception is raised and RIP is
// at this instruction.
void execute_site(const Instruction& instruction);

} // namespace previrt
