// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "ethernet/frame.hpp"
#include "ethernet/tcp_header.hpp"
#include "ethernet/unfinished.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace previrt::ethernet {

// Joins consecutive segments of a TCP stream into one packet. Cutting the packet gives the same frames again.
// The first segment is at the start of a room. Each further one is written behind it, with its headers over
// the end of the joined data, which append() or restore() puts back.
class SegmentJoiner {
public:
    static constexpr std::uint32_t longest = 65535;     // of the packet: lengths have 16 bits
    static constexpr std::uint32_t least_segment = 512; // of payload: smaller ones are no stream

    // The first frame, of this size; `left` is left to the peer.
    SegmentJoiner(std::span<std::uint8_t> room, std::uint32_t bytes, const Unfinished& left);

    [[nodiscard]] bool goes_on() const { return goes_on_; }
    // Room for the next candidate segment, of at most this size. Empty: no segment fits. Otherwise the end of
    // the joined data is not in the room until append() or restore().
    std::span<std::uint8_t> next(std::uint32_t bytes);
    // The candidate has this size. False: it does not belong to the packet.
    bool append(std::uint32_t bytes, const Unfinished& left);
    void restore();

    [[nodiscard]] std::uint32_t bytes() const { return bytes_; }
    // Writes the headers of the whole packet.
    Unfinished finish();

private:
    using Headers = std::array<std::uint8_t, tcp::start + tcp::most>;

    [[nodiscard]] bool can_begin(Frame frame) const;
    [[nodiscard]] bool follows(Frame frame, const Unfinished& left) const;
    [[nodiscard]] std::uint32_t payload_bytes() const { return bytes_ - header_bytes_; }

    std::span<std::uint8_t> room_;
    std::uint32_t bytes_;
    Unfinished left_;
    bool goes_on_ = false;
    std::uint32_t header_bytes_ = 0;
    std::uint32_t segment_bytes_ = 0;
    std::uint16_t segments_ = 1;
    std::uint8_t last_flags_ = 0;
    Headers headers_; // of the first segment
    Headers end_;     // the joined bytes that a candidate's headers overwrite
};

} // namespace previrt::ethernet
