// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/site_list.hpp"

#include <cstdint>

namespace previrt {

// An event came inside the trampoline of a site: restores the registers that it had changed, and says where
// to go on. Nothing of the guest is then half done, and no address of the VMM's shows.
std::uint64_t undo_trampoline(const KnownSite& site, std::uint64_t offset);

} // namespace previrt
