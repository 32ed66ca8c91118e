// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/dp83820/ethernet.hpp"

#include <cstdint>
#include <span>

namespace previrt::dp83820 {

// Ones' complement sum of RFC 1071, not inverted, in the byte order of the machine.
std::uint16_t internet_sum(std::span<const std::uint8_t> bytes, std::uint64_t sum = 0);

// Fills in the checksums that `wanted` asks for by IPPKT, TCPPKT and UDPPKT, where the frame has them. What
// is no IPv4, and the transport of a fragment, it leaves alone.
void fill_checksums(std::span<std::uint8_t> frame, std::uint32_t wanted);

// What the frame is and what is wrong with it, as extsts says it. With `trusted` all checksums count as
// right.
std::uint32_t verify_checksums(Frame frame, bool trusted);

} // namespace previrt::dp83820
