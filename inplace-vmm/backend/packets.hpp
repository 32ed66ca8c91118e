// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "ethernet/unfinished.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace previrt::backend {

// Packets are Ethernet frames without their frame check sequence.

using NetworkAddress = std::array<std::uint8_t, 6>;

// The card's. nullopt: there is no network, and the front-end calls nothing below.
std::optional<NetworkAddress> network_address();
// Whether the peer is there. An event comes when that changes.
bool network_is_up();
// Whether the peer accepts partial checksums and segmentation, and completes the packets.
bool takes_unfinished_packets();
// Room for the next packet, of at least this many bytes. Empty: there is none, and an event comes when there
// is.
std::span<std::uint8_t> packet_room(std::uint32_t least);
// Sends this many bytes of the room. `left`: what the peer has to complete.
void send_packet(std::uint32_t bytes, const ethernet::Unfinished& left);

// The VMM may change the bytes, and the peer may too.
struct ReceivedPacket {
    std::span<std::uint8_t> bytes;
    std::uint16_t segment_bytes; // as in Unfinished
    bool lacks_checksum;         // of TCP or UDP
    bool is_verified;            // the checksums need no verification
};
// The oldest packet that has come, until it is released. nullopt: there is none, and an event comes with the
// next.
std::optional<ReceivedPacket> received_packet();
void release_packet();
// Tells the peer, after some were sent or released.
void notify_packets();

} // namespace previrt::backend
