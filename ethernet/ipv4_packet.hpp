// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "ethernet/frame.hpp"
#include "ethernet/tcp_header.hpp"
#include "ethernet/unfinished.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace previrt::ethernet {

inline constexpr std::uint8_t protocol_tcp = 6;
inline constexpr std::uint8_t protocol_udp = 17;

// An IPv4 packet in a frame, with or without a tag. If it is not `whole`, only its offset is known.
struct Ipv4Packet {
    std::uint32_t start;
    bool whole = false;
    bool fragment = false;
    std::uint8_t protocol = 0;
    std::uint32_t header = 0;  // bytes
    std::uint32_t payload = 0; // bytes

    [[nodiscard]] std::uint32_t transport() const { return start + header; }
    [[nodiscard]] bool is_tagged() const { return start != header_bytes; }
};

std::optional<Ipv4Packet> find_ipv4(Frame frame);

// Of TCP and UDP.
struct Transport {
    std::uint32_t checksum; // offset
    std::uint32_t least;    // bytes
};

inline constexpr Transport tcp_transport{.checksum = tcp::checksum, .least = tcp::least};

// nullopt: neither TCP nor UDP, or this part of the packet does not show it.
std::optional<Transport> transport_of(const Ipv4Packet& packet);
// With its headers. nullopt: the headers contradict each other.
std::optional<std::uint32_t> transport_bytes(Frame frame, const Ipv4Packet& packet,
                                             const Transport& transport);

// For whole packets.
bool header_is_right(Frame frame, const Ipv4Packet& packet);
bool transport_is_right(Frame frame, const Ipv4Packet& packet, const Transport& transport);
void fill_header_checksum(std::span<std::uint8_t> frame, const Ipv4Packet& packet);
// If the headers contradict each other, these two do nothing.
void fill_transport_checksum(std::span<std::uint8_t> frame, const Ipv4Packet& packet,
                             const Transport& transport);
Unfinished leave_transport_checksum(std::span<std::uint8_t> frame, const Ipv4Packet& packet,
                                    const Transport& transport);

// Completes the checksum of TCP or UDP that the sender left out.
void finish_checksum(std::span<std::uint8_t> frame);

} // namespace previrt::ethernet
