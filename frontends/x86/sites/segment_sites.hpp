// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instructions/instruction.hpp"

namespace previrt {

// Segment registers, and instructions that read descriptors. False: it is another instruction.
bool execute_segment_site(const Instruction& instruction);

// lgdt, lidt, lldt, ltr: at level 0.
void load_system_table(const Instruction& instruction);

} // namespace previrt
