// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>

// The page tables of the front-end lead to the boot processor's own pages. Each other processor walks copies
// of the three tables that lead there, whose last entries differ: the root, and the tables of levels 3 and 2
// in its last entry. All other tables are shared, and user mode's roots too, for they hold nothing of the
// VMM. The copies are page tables of Xen's from the start on, and each change is an update: Xen would have to
// check a table as a whole when it becomes one.
namespace previrt::xen {

void start_processor_roots();
// Called for each other processor. Its tables have no entries of the guest's.
void build_processor_roots(unsigned processor);
// The root by which the present processor reaches these tables, as a machine frame. The queue of updates is
// empty afterwards.
std::uint64_t own_root(backend::TableNumber root);
// Whether a processor walks a copy of the table.
bool is_copied(backend::TableNumber table);
void change_copies(backend::TableNumber table, unsigned index, std::uint64_t entry);
// The root is about to be dropped: its copies name no table any more.
void empty_copies(backend::TableNumber root);
// The table leaves the pool's use.
void forget_copies(backend::TableNumber table);

} // namespace previrt::xen
