// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/rewriter.hpp"

namespace previrt {

// Each back-end implements this: whether the guest has this part of its layout at the recorded address.
Treatment treat_layout_constant(const KnownSite& site);

} // namespace previrt
