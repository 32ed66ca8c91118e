// SPDX-License-Identifier: BSD-2-Clause
#include "ethernet/ipv4_packet.hpp"

#include "ethernet/internet_checksum.hpp"

#include <cstring>

namespace previrt::ethernet {

namespace {

void put(std::span<std::uint8_t> frame, std::uint32_t offset, std::uint16_t value) {
    std::memcpy(frame.data() + offset, &value, sizeof(value));
}

std::uint16_t pseudo_sum(Frame frame, const Ipv4Packet& packet, std::uint32_t bytes) {
    return internet_sum(frame.subspan(packet.start + ip::addresses, 8),
                        __builtin_bswap16(static_cast<std::uint16_t>(bytes + packet.protocol)));
}

std::uint16_t transport_sum(Frame frame, const Ipv4Packet& packet, std::uint32_t bytes) {
    return internet_sum(frame.subspan(packet.transport(), bytes), pseudo_sum(frame, packet, bytes));
}

} // namespace

std::optional<Ipv4Packet> find_ipv4(Frame frame) {
    std::uint32_t start = header_bytes;
    if (frame.size() < header_bytes) {
        return std::nullopt;
    }
    std::uint16_t type = read_big_endian(frame, addresses_bytes);
    if (type == type_vlan && frame.size() >= header_bytes + tag_bytes) {
        type = read_big_endian(frame, addresses_bytes + tag_bytes);
        start += tag_bytes;
    }
    if (type != type_ipv4) {
        return std::nullopt;
    }
    Ipv4Packet packet{.start = start};
    const Frame header = frame.subspan(start);
    if (header.size() < ip::least || (header[0] >> 4U) != 4) {
        return packet;
    }
    packet.header = (header[0] & 15U) * 4U;
    const std::uint32_t total = read_big_endian(header, ip::total_length);
    packet.fragment = (read_big_endian(header, 6) & 0x3fffU) != 0; // MF, or an offset
    packet.protocol = header[9];
    packet.whole = packet.header >= ip::least && total >= packet.header && total <= header.size();
    packet.payload = packet.whole ? total - packet.header : 0;
    return packet;
}

std::optional<Transport> transport_of(const Ipv4Packet& packet) {
    if (!packet.whole || packet.fragment) {
        return std::nullopt;
    }
    if (packet.protocol == protocol_tcp) {
        return tcp_transport;
    }
    if (packet.protocol == protocol_udp) {
        return Transport{.checksum = 6, .least = 8};
    }
    return std::nullopt;
}

std::optional<std::uint32_t> transport_bytes(Frame frame, const Ipv4Packet& packet,
                                             const Transport& transport) {
    std::uint32_t bytes = packet.payload;
    if (bytes < transport.least) {
        return std::nullopt;
    }
    if (packet.protocol == protocol_udp) {
        bytes = read_big_endian(frame, packet.transport() + 4);
        if (bytes < transport.least || bytes > packet.payload) {
            return std::nullopt;
        }
    }
    return bytes;
}

bool header_is_right(Frame frame, const Ipv4Packet& packet) {
    return internet_sum(frame.subspan(packet.start, packet.header)) == all_ones;
}

bool transport_is_right(Frame frame, const Ipv4Packet& packet, const Transport& transport) {
    const std::optional<std::uint32_t> bytes = transport_bytes(frame, packet, transport);
    if (!bytes) {
        return false;
    }
    const bool none = packet.protocol == protocol_udp &&
                      read_big_endian(frame, packet.transport() + transport.checksum) == 0;
    return none || transport_sum(frame, packet, *bytes) == all_ones;
}

void fill_header_checksum(std::span<std::uint8_t> frame, const Ipv4Packet& packet) {
    put(frame, packet.start + ip::checksum, 0);
    const std::uint16_t sum = internet_sum(frame.subspan(packet.start, packet.header));
    put(frame, packet.start + ip::checksum, static_cast<std::uint16_t>(~sum));
}

void fill_transport_checksum(std::span<std::uint8_t> frame, const Ipv4Packet& packet,
                             const Transport& transport) {
    const std::optional<std::uint32_t> bytes = transport_bytes(frame, packet, transport);
    if (!bytes) {
        return;
    }
    const std::uint32_t place = packet.transport() + transport.checksum;
    put(frame, place, 0); // Linux leaves the sum of the pseudo header in the field
    const auto checksum = static_cast<std::uint16_t>(~transport_sum(frame, packet, *bytes));
    const bool none = packet.protocol == protocol_udp && checksum == 0; // 0 would mean no checksum
    put(frame, place, none ? all_ones : checksum);
}

Unfinished leave_transport_checksum(std::span<std::uint8_t> frame, const Ipv4Packet& packet,
                                    const Transport& transport) {
    const std::optional<std::uint32_t> bytes = transport_bytes(frame, packet, transport);
    if (!bytes) {
        return {};
    }
    put(frame, packet.transport() + transport.checksum, pseudo_sum(frame, packet, *bytes));
    return {.checksum_start = static_cast<std::uint16_t>(packet.transport()),
            .checksum_offset = static_cast<std::uint16_t>(transport.checksum)};
}

void finish_checksum(std::span<std::uint8_t> frame) {
    if (const std::optional<Ipv4Packet> packet = find_ipv4(frame)) {
        if (const std::optional<Transport> transport = transport_of(*packet)) {
            fill_transport_checksum(frame, *packet, *transport);
        }
    }
}

} // namespace previrt::ethernet
