// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/checksums.hpp"

#include "devices/dp83820/descriptor.hpp"

#include <cstring>
#include <optional>

namespace previrt::dp83820 {

namespace {

constexpr std::uint8_t protocol_tcp = 6;
constexpr std::uint8_t protocol_udp = 17;
constexpr std::uint32_t least_ip_header = 20;
constexpr std::uint32_t ip_checksum = 10;
constexpr std::uint16_t all_ones = 0xffff; // a sum over its own checksum, if that is right

// An IPv4 packet in a frame. All of it is there if it is `whole`, and else nothing but its place is known.
struct Packet {
    std::uint32_t start;
    bool whole = false;
    bool fragment = false;
    std::uint8_t protocol = 0;
    std::uint32_t header = 0;  // bytes
    std::uint32_t payload = 0; // bytes

    [[nodiscard]] std::uint32_t transport() const { return start + header; }
};

std::optional<Packet> find_packet(Frame frame) {
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
    Packet packet{.start = start};
    const Frame ip = frame.subspan(start);
    if (ip.size() < least_ip_header || (ip[0] >> 4U) != 4) {
        return packet;
    }
    packet.header = (ip[0] & 15U) * 4U;
    const std::uint32_t total = read_big_endian(ip, 2);
    packet.fragment = (read_big_endian(ip, 6) & 0x3fffU) != 0; // MF, or an offset
    packet.protocol = ip[9];
    packet.whole = packet.header >= least_ip_header && total >= packet.header && total <= ip.size();
    packet.payload = packet.whole ? total - packet.header : 0;
    return packet;
}

struct Transport {
    std::uint32_t packet_bit; // of extsts
    std::uint32_t error_bit;
    std::uint32_t checksum; // offset
    std::uint32_t least;    // bytes
};

std::optional<Transport> transport_of(const Packet& packet) {
    if (!packet.whole || packet.fragment) {
        return std::nullopt;
    }
    if (packet.protocol == protocol_tcp) {
        return Transport{extsts_tcppkt, extsts_tcperr, 16, 20};
    }
    if (packet.protocol == protocol_udp) {
        return Transport{extsts_udppkt, extsts_udperr, 6, 8};
    }
    return std::nullopt;
}

// nullopt: its headers contradict each other.
std::optional<std::uint32_t> transport_bytes(Frame frame, const Packet& packet, const Transport& transport) {
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

// With the pseudo header.
std::uint16_t transport_sum(Frame frame, const Packet& packet, std::uint32_t bytes) {
    const std::uint16_t addresses = internet_sum(frame.subspan(packet.start + 12, 8));
    const std::uint32_t rest = bytes + packet.protocol;
    return internet_sum(frame.subspan(packet.transport(), bytes),
                        std::uint64_t{addresses} + __builtin_bswap16(static_cast<std::uint16_t>(rest)));
}

void put(std::span<std::uint8_t> frame, std::uint32_t offset, std::uint16_t value) {
    std::memcpy(frame.data() + offset, &value, sizeof(value));
}

void fill_transport(std::span<std::uint8_t> frame, const Packet& packet, const Transport& transport) {
    const std::optional<std::uint32_t> bytes = transport_bytes(frame, packet, transport);
    if (!bytes) {
        return;
    }
    const std::uint32_t place = packet.transport() + transport.checksum;
    put(frame, place, 0); // Linux leaves the sum of the pseudo header there
    const auto checksum = static_cast<std::uint16_t>(~transport_sum(frame, packet, *bytes));
    const bool none = packet.protocol == protocol_udp && checksum == 0; // 0 would say that there is none
    put(frame, place, none ? all_ones : checksum);
}

bool transport_is_right(Frame frame, const Packet& packet, const Transport& transport) {
    const std::optional<std::uint32_t> bytes = transport_bytes(frame, packet, transport);
    if (!bytes) {
        return false;
    }
    const bool none = packet.protocol == protocol_udp &&
                      read_big_endian(frame, packet.transport() + transport.checksum) == 0;
    return none || transport_sum(frame, packet, *bytes) == all_ones;
}

} // namespace

std::uint16_t internet_sum(std::span<const std::uint8_t> bytes, std::uint64_t sum) {
    std::size_t done = 0;
    const auto word_at = [&bytes](std::size_t offset) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + offset, sizeof(word));
        return word;
    };
    unsigned __int128 wide = sum; // keeps all carries
    for (; done + 32 <= bytes.size(); done += 32) {
        wide += word_at(done);
        wide += word_at(done + 8);
        wide += word_at(done + 16);
        wide += word_at(done + 24);
    }
    for (; done + 8 <= bytes.size(); done += 8) {
        wide += word_at(done);
    }
    const auto low = static_cast<std::uint64_t>(wide);
    sum = (low & 0xffff'ffffU) + (low >> 32U) + static_cast<std::uint64_t>(wide >> 64U);
    for (; done + 2 <= bytes.size(); done += 2) {
        std::uint16_t word = 0;
        std::memcpy(&word, bytes.data() + done, sizeof(word));
        sum += word;
    }
    if (done < bytes.size()) {
        sum += bytes[done];
    }
    while (sum > all_ones) {
        sum = (sum & all_ones) + (sum >> 16U);
    }
    return static_cast<std::uint16_t>(sum);
}

void fill_checksums(std::span<std::uint8_t> frame, std::uint32_t wanted) {
    const std::optional<Packet> packet = find_packet(frame);
    if (!packet || !packet->whole) {
        return;
    }
    if ((wanted & extsts_ippkt) != 0) {
        put(frame, packet->start + ip_checksum, 0);
        const std::uint16_t sum = internet_sum(frame.subspan(packet->start, packet->header));
        put(frame, packet->start + ip_checksum, static_cast<std::uint16_t>(~sum));
    }
    const std::optional<Transport> transport = transport_of(*packet);
    if (transport && (wanted & transport->packet_bit) != 0) {
        fill_transport(frame, *packet, *transport);
    }
}

std::uint32_t verify_checksums(Frame frame, bool trusted) {
    const std::optional<Packet> packet = find_packet(frame);
    if (!packet) {
        return 0;
    }
    if (!packet->whole) {
        return extsts_ippkt | extsts_iperr;
    }
    std::uint32_t extsts = extsts_ippkt;
    if (!trusted && internet_sum(frame.subspan(packet->start, packet->header)) != all_ones) {
        extsts |= extsts_iperr;
    }
    if (const std::optional<Transport> transport = transport_of(*packet)) {
        extsts |= transport->packet_bit;
        extsts |= trusted || transport_is_right(frame, *packet, *transport) ? 0 : transport->error_bit;
    }
    return extsts;
}

} // namespace previrt::dp83820
