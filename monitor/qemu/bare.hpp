// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/place.hpp"

namespace previrt {

// A whole PC under QEMU, processor emulated (TCG): what bare metal would do, everywhere.
RunStatus run_bare(const RunOptions& options);

PlaceFinding probe_bare();

} // namespace previrt
