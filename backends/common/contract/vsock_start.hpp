// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/console_ring.hpp"

#include <cstdint>

namespace previrt::monitored {

// The host's end of the guest's streams, as the monitor describes it to the VMM.
struct VsockStart {
    Part sent; // a PacketRing each
    Part received;
    std::uint64_t guest_cid;
    bool is_there; // and the guest has a vsock device
};

} // namespace previrt::monitored
