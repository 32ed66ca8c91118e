// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/console_ring.hpp"

#include <cstdint>

namespace previrt::monitored {

// What a VMM is told of its network.
struct NetworkStart {
    Part sent; // a PacketRing each
    Part received;
    std::uint8_t address[6];
    bool is_there;         // and so is a card
    bool finishes_packets; // its other end, those that are sent
    bool is_down;          // its link: set and cleared at any time, before a call
};

} // namespace previrt::monitored
