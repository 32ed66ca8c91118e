// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::dp83820 {

// The host's own account of the card, to compare with the guest's. Bytes are without FCS, as the guest's.
struct Statistics {
    std::uint64_t register_reads = 0;
    std::uint64_t register_writes = 0;

    std::uint64_t sent_frames = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t looped_frames = 0; // came back by loopback
    std::uint64_t unsent_link_down = 0;
    std::uint64_t unsent_too_short = 0; // no header
    std::uint64_t unsent_too_long = 0;  // the guest got an error

    std::uint64_t received_frames = 0; // that the guest has
    std::uint64_t received_bytes = 0;
    std::uint64_t received_errors = 0; // of these: without OK
    std::uint64_t waited_frames = 0;   // through the FIFO
    std::uint64_t lost_no_room = 0;    // RXORN
    std::uint64_t lost_link_down = 0;
    std::uint64_t lost_flushed = 0; // in the FIFO when the guest reset the receiver
    std::uint64_t refused_receiver_off = 0;
    std::uint64_t refused_by_filter = 0;
    std::uint64_t refused_by_tag = 0;      // VRCR: DVTF, DUTF
    std::uint64_t refused_by_checksum = 0; // VRCR: RIPE, RTCPE, RUDPE
    std::uint64_t refused_by_length = 0;

    std::uint64_t bus_faults = 0; // a descriptor or buffer was not RAM
};

} // namespace previrt::dp83820
