// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instructions/instruction.hpp"

namespace previrt {

struct TableAccess {
    SiteKind kind;
    std::uint8_t reg;
    std::uint8_t bit; // that a bit instruction names
    std::uint8_t level;
    std::uint64_t address;
};
TableAccess table_access_of(const Instruction& instruction);

// The most frequent accesses: to an entry of level 1 or 2 that only user mode's shadow follows, if any, by an
// address that is known. False: nothing was done.
bool execute_simple_table_access(const TableAccess& access);

// The annotated accesses to page tables: does the store, and updates the shadow.
void execute_page_table_access(const Instruction& instruction);

} // namespace previrt
