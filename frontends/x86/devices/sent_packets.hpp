// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt {

// Moves frames from the card to the back-end, as far as the back-end has room. Segments of a stream are
// merged if the back-end accepts merged packets. Frames wait for more requests, until transmission_due(), or
// until the processor rests.
void send_packets(std::uint64_t now);
std::optional<std::uint64_t> transmission_due();
// The guest repeated its request to transmit. False: transmit now.
bool transmission_waits();
// Sends the packet whose frames have left the card already.
void flush_packets();

} // namespace previrt
