// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instruction.hpp"

namespace previrt {

// Does what the instruction would have done. RIP is then where execution goes on, or an exception is raised
// and RIP is at the instruction.
void execute_site(const Instruction& instruction);

// Records and code of a module that is about to run.
void take_announced_sites(std::uint64_t table, std::uint64_t bytes);

} // namespace previrt
