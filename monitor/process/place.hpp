// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/place.hpp"

namespace previrt {

// As processes of this machine. Throws InputError, also for a kernel that cannot be moved to its address
// there.
PreparedRun prepare_process(const RunOptions& options);
PlaceFinding probe_process();

} // namespace previrt
