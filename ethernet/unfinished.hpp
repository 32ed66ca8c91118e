// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::ethernet {

// The work that the sender of an IPv4 packet leaves to the peer, as a driver leaves it to a card, and a
// driver to another driver.
struct Unfinished {
    // The offset of the TCP or UDP header; 0: all checksums are complete. The checksum field has the sum of
    // the pseudo header.
    std::uint16_t checksum_start = 0;
    std::uint16_t checksum_offset = 0; // from checksum_start on
    // Only for TCP with a checksum left out: the packet is to be cut into frames with this many bytes of its
    // payload, the last with the rest. 0: it is a frame.
    std::uint16_t segment_bytes = 0;
    std::uint16_t header_bytes = 0; // of a packet that is to be cut: everything in front of the payload
};
static_assert(sizeof(Unfinished) == 8);

} // namespace previrt::ethernet
