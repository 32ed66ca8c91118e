// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>

// The page tables of the front-end lead to the boot processor's own pages. Each other processor walks copies
// of the three tables that lead there, whose last entries differ: the root, and the tables of levels 3 and 2
// in its last entry. All other tables are shared. A processor keeps the copies of its last roots, and the
// copies follow each change of their tables.
namespace previrt::kvm {

void start_processor_roots();
// The guest-physical address of the root by which the present processor reaches these tables. `user`: with
// --isolate, user mode's.
std::uint64_t own_root(backend::TableNumber root, bool user);
// Whether a processor walks a copy of the table. It sets accessed bits in the copy.
bool is_copied(backend::TableNumber table);
void change_copies(backend::TableNumber table, unsigned index, std::uint64_t entry);
// The table is no root any more, and none leads to it.
void forget_copies(backend::TableNumber table);

} // namespace previrt::kvm
