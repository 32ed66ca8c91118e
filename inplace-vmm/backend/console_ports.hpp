// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/console_port.hpp"

#include <cstdint>
#include <span>

namespace previrt::backend {

// Packets of the ports of virtio's console device (devices/virtio_console/packet.hpp), to and from the host.
// Only a back-end that is built with this header has them.

// By their numbers. Empty: the guest has no such device, and the front-end calls nothing below.
std::span<const ConsolePort> console_ports();
// Room for the next packet to the host, of at least this many bytes. Empty: there is none, and an event comes
// when there is.
std::span<std::uint8_t> port_room(std::uint32_t least);
// Sends this many bytes of the room.
void send_to_ports(std::uint32_t bytes);
// The oldest packet from the host, until it is released. Empty: there is none, and an event comes with the
// next.
std::span<const std::uint8_t> packet_from_ports();
void release_packet_from_ports();
// Tells the host, after some were sent or released.
void notify_ports();

} // namespace previrt::backend
