// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/place.hpp"
#include "monitor/xen/domu_run.hpp"

#include <string>

namespace previrt {

// Xen on a PC under QEMU (TCG), with guest and in-place VMM as the first domain.
RunStatus run_xen(const RunOptions& options);

// The same in a domain of its own, which previrt's dom0 starts by xl.
RunStatus run_xen_domu(const RunOptions& options);
// The domain that run_xen_domu starts, with this network card (empty: none) and no disks. Throws InputError.
DomainBesideDom0 pack_beside_dom0(const RunOptions& options, const std::string& vif);

PlaceFinding probe_xen();
PlaceFinding probe_xen_domu();

} // namespace previrt
