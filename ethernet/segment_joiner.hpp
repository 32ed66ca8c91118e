// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "ethernet/frame.hpp"
#include "ethernet/tcp_header.hpp"
#include "ethernet/unfinished.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace previrt::ethernet {

// Segments of a TCP stream that follow each other, put together to one packet. Who cuts it makes the same
// frames of it again. The first is at the start of a room; each of the others is put there with its headers
// over the end of what is there already, which is then put back.
class SegmentJoiner {
public:
    static constexpr std::uint32_t longest = 65535;     // of the packet: lengths have 16 bits
    static constexpr std::uint32_t least_segment = 512; // of payload: smaller ones are no stream

    // A frame of so many bytes, of which this is left to others.
    SegmentJoiner(std::span<std::uint8_t> room, std::uint32_t bytes, const Unfinished& left);

    [[nodiscard]] bool goes_on() const { return goes_on_; }
    // Where another goes that may belong to it, of at most so many bytes. Empty: none does. Else the end of
    // what is there is not in the room until append() or restore().
    std::span<std::uint8_t> next(std::uint32_t bytes);
    // So many are there. False: they are another packet's.
    bool append(std::uint32_t bytes, const Unfinished& left);
    void restore();

    [[nodiscard]] std::uint32_t bytes() const { return bytes_; }
    // Writes the headers of all of it.
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
    Headers headers_; // of the first
    Headers end_;     // of what is there
};

} // namespace previrt::ethernet
