// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/checksums.hpp"

#include "devices/dp83820/descriptor.hpp"
#include "ethernet/ipv4_packet.hpp"

#include <optional>

namespace previrt::dp83820 {

using namespace ethernet;

namespace {

std::uint32_t packet_bit(const Ipv4Packet& packet) {
    return packet.protocol == protocol_tcp ? extsts_tcppkt : extsts_udppkt;
}

std::uint32_t error_bit(const Ipv4Packet& packet) {
    return packet.protocol == protocol_tcp ? extsts_tcperr : extsts_udperr;
}

} // namespace

Unfinished fill_checksums(std::span<std::uint8_t> frame, std::uint32_t wanted, bool leaves_transport) {
    const std::optional<Ipv4Packet> packet = find_ipv4(frame);
    if (!packet || !packet->whole) {
        return {};
    }
    if ((wanted & extsts_ippkt) != 0) {
        fill_header_checksum(frame, *packet);
    }
    const std::optional<Transport> transport = transport_of(*packet);
    if (!transport || (wanted & packet_bit(*packet)) == 0) {
        return {};
    }
    if (leaves_transport && !packet->is_tagged()) {
        return leave_transport_checksum(frame, *packet, *transport);
    }
    fill_transport_checksum(frame, *packet, *transport);
    return {};
}

std::uint32_t verify_checksums(Frame frame, bool trusted) {
    const std::optional<Ipv4Packet> packet = find_ipv4(frame);
    if (!packet) {
        return 0;
    }
    if (!packet->whole) {
        return extsts_ippkt | extsts_iperr;
    }
    std::uint32_t extsts = extsts_ippkt;
    extsts |= trusted || header_is_right(frame, *packet) ? 0 : extsts_iperr;
    if (const std::optional<Transport> transport = transport_of(*packet)) {
        extsts |= packet_bit(*packet);
        extsts |= trusted || transport_is_right(frame, *packet, *transport) ? 0 : error_bit(*packet);
    }
    return extsts;
}

} // namespace previrt::dp83820
