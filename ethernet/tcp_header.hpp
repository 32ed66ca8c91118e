// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "ethernet/frame.hpp"

#include <cstdint>

// Offsets in headers of IPv4 and TCP.
namespace previrt::ethernet {

namespace ip {
inline constexpr std::uint32_t least = 20; // bytes of a header
inline constexpr std::uint32_t most = 60;
inline constexpr std::uint32_t total_length = 2;
inline constexpr std::uint32_t identification = 4;
inline constexpr std::uint32_t checksum = 10;
inline constexpr std::uint32_t addresses = 12;
} // namespace ip

namespace tcp {
inline constexpr std::uint32_t start = header_bytes + ip::least; // in a frame without tag and options
inline constexpr std::uint32_t least = 20;                       // bytes of a header
inline constexpr std::uint32_t most = 60;
inline constexpr std::uint32_t sequence = 4;
inline constexpr std::uint32_t acknowledgment = 8;
inline constexpr std::uint32_t data_offset = 12;
inline constexpr std::uint32_t flags = 13;
inline constexpr std::uint32_t window = 14;
inline constexpr std::uint32_t checksum = 16;
inline constexpr std::uint32_t urgent_pointer = 18;

inline constexpr std::uint8_t flag_fin = 0x01;
inline constexpr std::uint8_t flag_psh = 0x08;
inline constexpr std::uint8_t flag_ack = 0x10;
inline constexpr std::uint8_t flag_cwr = 0x80;
inline constexpr std::uint8_t flags_of_last = flag_psh | flag_fin; // of the last of consecutive segments

// The length field of the header at `place`.
constexpr std::uint32_t header_length(Frame frame, std::uint32_t place) {
    return (frame[place + data_offset] >> 4U) * 4U;
}
} // namespace tcp

} // namespace previrt::ethernet
