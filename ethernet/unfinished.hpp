// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::ethernet {

// What is left to be done to a packet of IPv4, by who takes it: as a card does it for its driver, and a
// driver need not for another driver.
struct Unfinished {
    // Of its TCP or UDP header; 0: all checksums are complete. Where the checksum goes is the sum of the
    // pseudo header.
    std::uint16_t checksum_start = 0;
    std::uint16_t checksum_offset = 0; // behind that
    // TCP only, and without a checksum: it is to be cut into frames with so many bytes of its payload each,
    // the last with the rest. 0: it is a frame.
    std::uint16_t segment_bytes = 0;
    std::uint16_t header_bytes = 0; // of what is to be cut: all in front of the payload
};
static_assert(sizeof(Unfinished) == 8);

} // namespace previrt::ethernet
