// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "ethernet/frame.hpp"
#include "ethernet/unfinished.hpp"

#include <cstdint>
#include <span>

namespace previrt::dp83820 {

// Fills in the checksums that `wanted` asks for by IPPKT, TCPPKT and UDPPKT, where the frame has them. What
// is no IPv4, and the transport of a fragment, it leaves alone; that of a frame without a tag, to others if
// they take it.
ethernet::Unfinished fill_checksums(std::span<std::uint8_t> frame, std::uint32_t wanted,
                                    bool leaves_transport);

// What the frame is and what is wrong with it, as extsts says it. With `trusted` all checksums count as
// right.
std::uint32_t verify_checksums(ethernet::Frame frame, bool trusted);

} // namespace previrt::dp83820
