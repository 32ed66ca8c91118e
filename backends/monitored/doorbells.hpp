// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/monitored/console_ring.hpp"

namespace previrt::monitored {

// The console's rings, and how the monitor is called to them.
ConsoleRing& output_ring();
ConsoleRing& input_ring();
void ring_for_reader(); // of the output, which waits
void ring_for_room();   // in the output, or there is room in the input
void ring_for_end();

} // namespace previrt::monitored
