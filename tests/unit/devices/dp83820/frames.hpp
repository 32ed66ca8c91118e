// SPDX-License-Identifier: BSD-2-Clause
// Frames as the tests want them, with checksums computed in the simplest way there is.
#pragma once

#include "ethernet/frame.hpp"

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace previrt {

using Bytes = std::vector<std::uint8_t>;

inline constexpr ethernet::MacAddress card_address{0x02, 0x11, 0x22, 0x33, 0x44, 0x56};
inline constexpr ethernet::MacAddress other_address{0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee};
inline constexpr ethernet::MacAddress broadcast_address{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
inline constexpr ethernet::MacAddress all_hosts_address{0x01, 0x00, 0x5e, 0x00, 0x00, 0x01};

inline void append(Bytes& to, std::span<const std::uint8_t> bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

inline void append_big_endian(Bytes& to, std::uint16_t value) {
    to.push_back(static_cast<std::uint8_t>(value >> 8U));
    to.push_back(static_cast<std::uint8_t>(value));
}

inline void put_big_endian(Bytes& to, std::size_t offset, std::uint16_t value) {
    to.at(offset) = static_cast<std::uint8_t>(value >> 8U);
    to.at(offset + 1) = static_cast<std::uint8_t>(value);
}

inline std::uint16_t get_big_endian(std::span<const std::uint8_t> from, std::size_t offset) {
    return static_cast<std::uint16_t>((from[offset] << 8U) | from[offset + 1]);
}

// Bytes that differ from place to place and by `seed`.
inline Bytes pattern(std::size_t bytes, std::uint8_t seed = 1) {
    Bytes result(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        result[i] = static_cast<std::uint8_t>((i * 7) + (i >> 8U) + seed);
    }
    return result;
}

inline Bytes make_frame(const ethernet::MacAddress& to, std::uint16_t type, const Bytes& payload) {
    Bytes frame;
    append(frame, to);
    append(frame, other_address);
    append_big_endian(frame, type);
    append(frame, payload);
    return frame;
}

// The frame in `parts` pieces.
inline std::vector<Bytes> cut(const Bytes& frame, std::size_t parts) {
    std::vector<Bytes> pieces(parts);
    for (std::size_t i = 0; i < parts; ++i) {
        append(pieces[i],
               std::span(frame).subspan(frame.size() * i / parts,
                                        (frame.size() * (i + 1) / parts) - (frame.size() * i / parts)));
    }
    return pieces;
}

// `bytes` long, without FCS.
inline Bytes plain_frame(std::size_t bytes, std::uint8_t seed = 1,
                         const ethernet::MacAddress& to = card_address) {
    return make_frame(to, 0x88b5, pattern(bytes - 14, seed)); // a type for experiments
}

inline Bytes with_tag(Bytes frame, std::uint16_t tci) {
    const Bytes tag{0x81, 0x00, static_cast<std::uint8_t>(tci >> 8U), static_cast<std::uint8_t>(tci)};
    frame.insert(frame.begin() + 12, tag.begin(), tag.end());
    return frame;
}

inline Bytes padded(Bytes frame) {
    frame.resize(std::max<std::size_t>(frame.size(), 60));
    return frame;
}

inline std::uint16_t simple_checksum(std::span<const std::uint8_t> bytes, std::uint32_t sum = 0) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        sum += static_cast<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8U : 0U);
        sum = (sum & 0xffffU) + (sum >> 16U);
    }
    return static_cast<std::uint16_t>(~sum);
}

inline constexpr std::uint8_t tcp = 6;
inline constexpr std::uint8_t udp = 17;
inline constexpr std::size_t ip_offset = 14;
inline constexpr std::size_t ip_checksum_offset = ip_offset + 10;
inline constexpr std::size_t transport_offset = ip_offset + 20;
inline constexpr std::size_t udp_checksum_offset = transport_offset + 6;
inline constexpr std::size_t tcp_checksum_offset = transport_offset + 16;

// The sum of the pseudo header, not inverted, as Linux leaves it in the checksum's place.
inline std::uint16_t pseudo_sum(std::span<const std::uint8_t> frame, std::uint8_t protocol,
                                std::size_t bytes) {
    Bytes header(frame.begin() + ip_offset + 12, frame.begin() + ip_offset + 20);
    append_big_endian(header, protocol);
    append_big_endian(header, static_cast<std::uint16_t>(bytes));
    return static_cast<std::uint16_t>(~simple_checksum(header));
}

// IPv4 without options. All checksums are right.
inline Bytes ip_frame(std::uint8_t protocol, const Bytes& data, std::uint16_t fragment = 0) {
    Bytes transport;
    append_big_endian(transport, 40'000);
    append_big_endian(transport, 5001);
    if (protocol == udp) {
        append_big_endian(transport, static_cast<std::uint16_t>(8 + data.size()));
        append_big_endian(transport, 0);
    } else {
        append(transport, Bytes{0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 0x20, 0x00, 0, 0, 0, 0});
    }
    append(transport, data);

    Bytes ip{0x45, 0};
    append_big_endian(ip, static_cast<std::uint16_t>(20 + transport.size()));
    append_big_endian(ip, 0x1234);
    append_big_endian(ip, fragment);
    append(ip, Bytes{64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2});
    put_big_endian(ip, 10, simple_checksum(ip));
    append(ip, transport);
    Bytes frame = make_frame(card_address, 0x0800, ip);

    const std::uint16_t pseudo = pseudo_sum(frame, protocol, transport.size());
    const std::uint16_t checksum = simple_checksum(std::span(frame).subspan(transport_offset), pseudo);
    if (protocol == udp) {
        put_big_endian(frame, udp_checksum_offset, checksum == 0 ? 0xffff : checksum);
    } else if (protocol == tcp) {
        put_big_endian(frame, tcp_checksum_offset, checksum);
    }
    return frame;
}

} // namespace previrt
