// SPDX-License-Identifier: BSD-2-Clause
// Two rings of packets, with the monitor at their other ends.
#include "backends/common/monitor_link/console_ports.hpp"

#include "backends/common/monitor_link/doorbells.hpp"
#include "backends/common/monitor_link/ring_pair.hpp"
#include "inplace-vmm/backend/console_ports.hpp"

namespace previrt::backend {

using namespace monitored;

namespace {

RingPair& rings() {
    static RingPair pair(monitored::console_ports().sent, monitored::console_ports().received);
    return pair;
}

} // namespace

std::span<const ConsolePort> console_ports() {
    const ConsolePortsStart& start = monitored::console_ports();
    return start.are_there ? std::span<const ConsolePort>(start.ports) : std::span<const ConsolePort>();
}

std::span<std::uint8_t> port_room(std::uint32_t least) {
    return rings().room(least);
}

void send_to_ports(std::uint32_t bytes) {
    rings().send(bytes);
}

std::span<const std::uint8_t> packet_from_ports() {
    const std::optional<RingPacket> packet = rings().next();
    return packet ? packet->bytes : std::span<const std::uint8_t>();
}

void release_packet_from_ports() {
    rings().release();
}

void notify_ports() {
    if (rings().must_call()) {
        ring_for_console_ports();
    }
}

} // namespace previrt::backend
