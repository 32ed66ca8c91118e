// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace previrt::backend {

// Packets of virtio's socket device, to and from the host's end of its streams. Only a back-end that is built
// with this header has them.

// The guest's CID. nullopt: the host has no end, and the front-end calls nothing below.
std::optional<std::uint64_t> vsock_address();
// Room for the next packet to the host, of at least this many bytes. Empty: there is none, and an event comes
// when there is.
std::span<std::uint8_t> vsock_room(std::uint32_t least);
// Sends this many bytes of the room.
void send_to_host(std::uint32_t bytes);
// The oldest packet from the host, until it is released. Empty: there is none, and an event comes with the
// next.
std::span<const std::uint8_t> packet_from_host();
void release_packet_from_host();
// Tells the host, after some were sent or released.
void notify_host();

} // namespace previrt::backend
