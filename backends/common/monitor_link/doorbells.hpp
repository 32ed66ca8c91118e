// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/console_ring.hpp"
#include "backends/common/contract/disk_start.hpp"
#include "backends/common/contract/network_start.hpp"
#include "backends/common/contract/packet_ring.hpp"

namespace previrt::monitored {

// The rings, and the doorbells of the monitor.
ConsoleRing& output_ring();
ConsoleRing& input_ring();
void ring_for_reader(); // there is output for the waiting reader
void ring_for_room();   // there is room in the input ring
void ring_for_end();

const NetworkStart& network();
std::uint8_t* place_of(const Part& part);
void ring_for_packets(); // there are sent packets, or there is room for received ones

const DisksStart& disks();
void ring_for_disk(unsigned disk); // there are requests, or there is room for completions

} // namespace previrt::monitored
