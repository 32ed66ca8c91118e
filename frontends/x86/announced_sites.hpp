// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// A module's records, at a guest's virtual address: checked as a whole, then its code is rewritten in place.
void take_announced_sites(std::uint64_t table, std::uint64_t bytes);

} // namespace previrt
