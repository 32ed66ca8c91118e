// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "ethernet/frame.hpp"
#include "ethernet/ipv4_packet.hpp"
#include "ethernet/tcp_header.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace previrt::ethernet {

// Cuts a packet of a TCP stream that is too long for one frame into frames. Each frame is made in the
// packet's own memory: its headers overwrite the end of the frame before.
class SegmentCutter {
public:
    // Each frame has this many bytes of payload, except the last. False: it is no such packet.
    bool start(Frame packet, std::uint32_t segment_bytes);
    // The number of all frames, and of their bytes.
    [[nodiscard]] std::uint32_t frames() const {
        return (payload_bytes_ + segment_bytes_ - 1) / segment_bytes_;
    }
    [[nodiscard]] std::uint32_t bytes() const { return (frames() * header_bytes_) + payload_bytes_; }
    [[nodiscard]] bool has_next() const { return done_ < payload_bytes_; }
    [[nodiscard]] std::uint32_t next_bytes() const { return header_bytes_ + next_payload(); }
    // `packet` is the same packet; its contents may have changed. All checksums of the frame are complete.
    Frame next(std::span<std::uint8_t> packet);
    void stop() { done_ = payload_bytes_; }

private:
    [[nodiscard]] std::uint32_t next_payload() const;
    void write_headers(Frame payload);

    std::array<std::uint8_t, header_bytes + tag_bytes + ip::most + tcp::most> headers_{}; // of the next frame
    Ipv4Packet packet_{};
    std::uint32_t header_bytes_ = 0;
    std::uint32_t segment_bytes_ = 0;
    std::uint32_t payload_bytes_ = 0;
    std::uint32_t done_ = 0; // of the payload
    std::uint8_t last_flags_ = 0;
};

} // namespace previrt::ethernet
