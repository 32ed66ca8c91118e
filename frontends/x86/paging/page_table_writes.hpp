// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instructions/instruction.hpp"

namespace previrt {

// The annotated accesses to page tables: does the store, and updates the shadow.
void execute_page_table_access(const Instruction& instruction);

} // namespace previrt
