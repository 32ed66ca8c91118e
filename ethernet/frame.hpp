// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace previrt::ethernet {

using Frame = std::span<const std::uint8_t>; // without FCS
using MacAddress = std::array<std::uint8_t, 6>;

inline constexpr std::uint32_t addresses_bytes = 12;
inline constexpr std::uint32_t header_bytes = 14;
inline constexpr std::uint32_t tag_bytes = 4;
inline constexpr std::uint32_t check_bytes = 4;
inline constexpr std::uint32_t shortest_frame = 60;     // without FCS
inline constexpr std::uint32_t longest_standard = 1514; // without FCS and tag
inline constexpr std::uint16_t type_ipv4 = 0x0800;
inline constexpr std::uint16_t type_arp = 0x0806;
inline constexpr std::uint16_t type_vlan = 0x8100;
inline constexpr std::uint16_t largest_length = 1500; // a larger number is a type

// Two bytes in network byte order.
constexpr std::uint16_t read_big_endian(Frame bytes, std::size_t offset) {
    return static_cast<std::uint16_t>((bytes[offset] << 8U) | bytes[offset + 1]);
}

constexpr std::uint32_t read_big_endian_32(Frame bytes, std::size_t offset) {
    return (std::uint32_t{read_big_endian(bytes, offset)} << 16U) | read_big_endian(bytes, offset + 2);
}

constexpr void write_big_endian(std::span<std::uint8_t> bytes, std::size_t offset, std::uint16_t value) {
    bytes[offset] = static_cast<std::uint8_t>(value >> 8U);
    bytes[offset + 1] = static_cast<std::uint8_t>(value);
}

constexpr void write_big_endian_32(std::span<std::uint8_t> bytes, std::size_t offset, std::uint32_t value) {
    write_big_endian(bytes, offset, static_cast<std::uint16_t>(value >> 16U));
    write_big_endian(bytes, offset + 2, static_cast<std::uint16_t>(value));
}

// The same as a little-endian chip shows them: TCI, VDR.
constexpr std::uint16_t read_little_endian(Frame bytes, std::size_t offset) {
    return static_cast<std::uint16_t>(bytes[offset] | (bytes[offset + 1] << 8U));
}

} // namespace previrt::ethernet
