// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/packet_ring.hpp"
#include "monitor/network/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/types.h>

namespace previrt {

// What a guest's card is connected to: a nonblocking descriptor that takes a packet by each write and gives
// one by each read.
struct PacketEnd {
    int number;       // -1: there is none
    bool has_headers; // virtio's, in front of each: packets may be unfinished, and longer than frames

    [[nodiscard]] std::uint32_t longest() const {
        return has_headers ? monitored::longest_packet : longest_frame;
    }

    // As write() and read(), without the header. What cannot be is EINVAL.
    [[nodiscard]] ssize_t write(std::span<const std::uint8_t> packet, const ethernet::Unfinished& left) const;
    // Of one that is to be cut nothing but that is left, of others nothing. Less than a frame's header: none.
    ssize_t read(std::span<std::uint8_t> room, monitored::PacketState& state) const;
};

// On the wire.
struct FrameCount {
    std::uint64_t frames;
    std::uint64_t bytes;
};
FrameCount count_frames(std::span<const std::uint8_t> packet, std::uint16_t segment_bytes);

} // namespace previrt
