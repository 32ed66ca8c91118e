// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/site_list.hpp"

#include <cstdint>

namespace previrt {

// An event came inside the trampoline of a site. Restores the registers that the trampoline had changed, and
// returns the address at which the guest continues. No guest instruction is then half done, and the guest
// sees no address of the VMM's.
std::uint64_t undo_trampoline(const KnownSite& site, std::uint64_t offset);

} // namespace previrt
