// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instructions/instruction.hpp"

namespace previrt {

// in, out, ins, outs. Takes effect or raises an exception. A repeated instruction does one element, and
// leaves RIP unchanged while more remain.
void execute_port(const Instruction& instruction);

} // namespace previrt
