// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace previrt::ethernet {

constexpr std::uint16_t all_ones = 0xffff; // the sum over data with its own correct checksum

// Ones' complement sum of RFC 1071, not inverted, in the byte order of the machine.
std::uint16_t internet_sum(std::span<const std::uint8_t> bytes, std::uint64_t sum = 0);

} // namespace previrt::ethernet
