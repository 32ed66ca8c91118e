// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/shadow/pool.hpp"

// The page-table pool is a cache of the guest's tables: hidden faults make dropped tables again.
namespace previrt::shadow {

void start_eviction();

// Called before any operation that takes tables, while no table number is held: it may drop every table but
// the roots in use. Afterwards, one access can always be served.
void make_room();
// Drops all tables but the roots in use.
void drop_all_tables();

} // namespace previrt::shadow
