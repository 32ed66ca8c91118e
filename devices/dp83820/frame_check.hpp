// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace previrt::dp83820 {

// CRC-32 of IEEE 802.3, as its register is at the end: the first bit of the wire is bit 0, not inverted.
std::uint32_t frame_check(std::span<const std::uint8_t> bytes, std::uint32_t crc = 0xffff'ffff);

// The bytes that follow the frame on the wire.
constexpr std::array<std::uint8_t, 4> frame_check_sequence(std::uint32_t crc) {
    const std::uint32_t sent = ~crc;
    return {static_cast<std::uint8_t>(sent), static_cast<std::uint8_t>(sent >> 8U),
            static_cast<std::uint8_t>(sent >> 16U), static_cast<std::uint8_t>(sent >> 24U)};
}

} // namespace previrt::dp83820
