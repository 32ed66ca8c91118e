// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/monitored/clock.hpp"

namespace previrt {

// The time-stamp counter, measured against the host's clock.
monitored::ClockStart read_process_clock();

} // namespace previrt
