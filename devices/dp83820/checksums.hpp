// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "ethernet/frame.hpp"
#include "ethernet/unfinished.hpp"

#include <cstdint>
#include <span>

namespace previrt::dp83820 {

// Completes the checksums of the frame that `wanted` asks for by IPPKT, TCPPKT and UDPPKT. Leaves frames
// without IPv4, and the transport of fragments, unchanged. For a frame without a tag, leaves the transport's
// checksum to a peer that accepts it.
ethernet::Unfinished fill_checksums(std::span<std::uint8_t> frame, std::uint32_t wanted,
                                    bool leaves_transport);

// The type and the faults of the frame, as bits of EXTSTS. With `trusted` all checksums count as right.
std::uint32_t verify_checksums(ethernet::Frame frame, bool trusted);

} // namespace previrt::dp83820
