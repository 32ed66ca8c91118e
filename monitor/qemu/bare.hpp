// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/place.hpp"

namespace previrt {

// A PC under QEMU with an emulated processor (TCG): a bare machine, on any host.
RunStatus run_bare(const RunOptions& options);

PlaceFinding probe_bare();

} // namespace previrt
