// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instructions/instruction.hpp"

namespace previrt {

// Segment registers, and what looks at descriptors. False: the instruction is of another sort.
bool execute_segment_site(const Instruction& instruction);

// lgdt, lidt, lldt, ltr: at level 0.
void load_system_table(const Instruction& instruction);

} // namespace previrt
