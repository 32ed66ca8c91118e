// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "ethernet/frame.hpp"
#include "ethernet/ipv4_packet.hpp"
#include "ethernet/tcp_header.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace previrt::ethernet {

// Frames out of a packet of a TCP stream that is too long to be one. Each is made in the packet's own memory,
// its headers over what was in the frame before.
class SegmentCutter {
public:
    // Each with so many bytes of payload, but the last. False: it is no such packet.
    bool start(Frame packet, std::uint32_t segment_bytes);
    // All of them, and their bytes.
    [[nodiscard]] std::uint32_t frames() const {
        return (payload_bytes_ + segment_bytes_ - 1) / segment_bytes_;
    }
    [[nodiscard]] std::uint32_t bytes() const { return (frames() * header_bytes_) + payload_bytes_; }
    [[nodiscard]] bool has_next() const { return done_ < payload_bytes_; }
    [[nodiscard]] std::uint32_t next_bytes() const { return header_bytes_ + next_payload(); }
    // Of the same packet, which may have changed. All its checksums are complete.
    Frame next(std::span<std::uint8_t> packet);
    void stop() { done_ = payload_bytes_; }

private:
    [[nodiscard]] std::uint32_t next_payload() const;
    void write_headers(Frame payload);

    std::array<std::uint8_t, header_bytes + tag_bytes + ip::most + tcp::most> headers_{}; // of the next
    Ipv4Packet packet_{};
    std::uint32_t header_bytes_ = 0;
    std::uint32_t segment_bytes_ = 0;
    std::uint32_t payload_bytes_ = 0;
    std::uint32_t done_ = 0; // of the payload
    std::uint8_t last_flags_ = 0;
};

} // namespace previrt::ethernet
