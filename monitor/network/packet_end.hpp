// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/packet_ring.hpp"
#include "monitor/network/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/types.h>

namespace previrt {

// The end of a guest's cable: a nonblocking descriptor. Each write sends a packet, each read receives one.
struct PacketEnd {
    int number;       // -1: there is none
    bool has_headers; // each packet has a virtio header: it may lack checksums, and be longer than a frame

    [[nodiscard]] std::uint32_t longest() const {
        return has_headers ? monitored::longest_packet : longest_frame;
    }

    // As write() and read(), without the header. EINVAL for a packet that the end cannot take.
    [[nodiscard]] ssize_t write(std::span<const std::uint8_t> packet, const ethernet::Unfinished& left) const;
    // Only segmentation may be left to do. A result shorter than a frame's header is no frame.
    ssize_t read(std::span<std::uint8_t> room, monitored::PacketState& state) const;
};

// Frames on the wire.
struct FrameCount {
    std::uint64_t frames;
    std::uint64_t bytes;
};
FrameCount count_frames(std::span<const std::uint8_t> packet, std::uint16_t segment_bytes);

} // namespace previrt
