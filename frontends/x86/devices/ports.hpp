// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instructions/instruction.hpp"

namespace previrt {

// in, out, ins, outs. Each takes effect or raises an exception; a repeated one does one element, and leaves
// RIP where it is while more are to come.
void execute_port(const Instruction& instruction);

} // namespace previrt
