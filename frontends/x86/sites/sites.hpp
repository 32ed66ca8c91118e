// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instructions/instruction.hpp"

namespace previrt {

// Does what the instruction would have done. RIP is then where execution goes on, or an exception is raised
// and RIP is at the instruction.
void execute_site(const Instruction& instruction);

} // namespace previrt
