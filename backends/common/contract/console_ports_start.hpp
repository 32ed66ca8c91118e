// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/console_ring.hpp"
#include "inplace-vmm/backend/console_port.hpp"

namespace previrt::monitored {

// The host's end of the ports of the guest's console device, as the monitor describes it to the VMM.
struct ConsolePortsStart {
    Part sent; // a PacketRing each
    Part received;
    backend::ConsolePort ports[backend::most_console_ports];
    bool are_there; // and the guest has a console device
};

} // namespace previrt::monitored
