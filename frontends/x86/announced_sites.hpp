// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

constexpr std::uint64_t most_announced_bytes = std::uint64_t{1} << 20U;

// A module's records, at a guest's virtual address: checked as a whole, then its code is rewritten in place.
// A table that is not there stops the guest.
void take_announced_sites(std::uint64_t table, std::uint64_t bytes);

} // namespace previrt
