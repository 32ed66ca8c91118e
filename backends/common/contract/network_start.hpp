// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/console_ring.hpp"

#include <cstdint>

namespace previrt::monitored {

// The network, as the monitor describes it to the VMM.
struct NetworkStart {
    Part sent; // a PacketRing each
    Part received;
    std::uint8_t address[6];
    bool is_there;         // and the guest has a card
    bool finishes_packets; // the peer completes packets with partial checksums, and cuts merged ones
    bool is_down;          // the link is down. The monitor changes it at any time, and then rings
};

} // namespace previrt::monitored
