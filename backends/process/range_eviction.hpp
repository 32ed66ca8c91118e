// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/page_tables.hpp"

namespace previrt::process {

// Counts the ranges of the current process's user's part anew. If they are too many for further ones, unmaps
// some, in the order of their addresses from where the last call ended: the pages that are used map
// themselves again, one fault each. Mappings that end leave the count too high, hence the new count.
void evict_ranges(backend::TableNumber root);

} // namespace previrt::process
