// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/shadow/pool.hpp"

// The pool is a cache of the guest's tables: what was dropped comes again by hidden faults.
namespace previrt::shadow {

void start_eviction();

// Before anything that takes tables, while no number of one is held: whatever is not a root in use may be
// dropped. Behind it, one access can always be served.
void make_room();
// All tables but the roots in use.
void drop_all_tables();

} // namespace previrt::shadow
