// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/console_ring.hpp"
#include "backends/common/contract/network_start.hpp"
#include "backends/common/contract/packet_ring.hpp"

namespace previrt::monitored {

// The rings, and how the monitor is called to them.
ConsoleRing& output_ring();
ConsoleRing& input_ring();
void ring_for_reader(); // of the output, which waits
void ring_for_room();   // in the output, or there is room in the input
void ring_for_end();

const NetworkStart& network();
std::uint8_t* place_of(const Part& part);
void ring_for_packets(); // sent, or there is room in what comes

} // namespace previrt::monitored
