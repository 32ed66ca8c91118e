// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/start_up/execution.hpp"

namespace previrt::start_up {

// Executes the instruction whose prefixes and opcode are read.
void execute_opcode(Execution& execution);

} // namespace previrt::start_up
