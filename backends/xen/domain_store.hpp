// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/xenstore.hpp"

namespace previrt::xen {

// This domain's client of xenstored, started at the first call. From then on, its events end idle(). nullptr:
// it has none, as dom0.
Xenstore* domain_store();

} // namespace previrt::xen
