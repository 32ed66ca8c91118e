// SPDX-License-Identifier: BSD-2-Clause
// Segments of a TCP stream, as a system without help of its card would send them.
#pragma once

#include "ethernet/tcp_header.hpp"
#include "ethernet/unfinished.hpp"
#include "tests/unit/devices/dp83820/frames.hpp"

#include <cstdint>
#include <vector>

namespace previrt {

struct Segment {
    std::uint32_t sequence = 0xffff'f000; // so that it wraps
    std::uint16_t identification = 0xfffe;
    std::uint8_t flags = ethernet::tcp::flag_ack;
    bool has_timestamps = true;
    Bytes payload;
};

// Complete.
inline Bytes make_segment(const Segment& segment) {
    Bytes options;
    if (segment.has_timestamps) {
        options = {1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8};
    }
    Bytes data = options;
    append(data, segment.payload);
    Bytes frame = ip_frame(tcp, data, 0x4000);
    put_big_endian(frame, ip_offset + ethernet::ip::identification, segment.identification);
    put_big_endian(frame, ip_checksum_offset, 0);
    put_big_endian(frame, ip_checksum_offset, simple_checksum(std::span(frame).subspan(ip_offset, 20)));
    const auto at = [](std::uint32_t offset) { return transport_offset + offset; };
    put_big_endian(frame, at(ethernet::tcp::sequence), static_cast<std::uint16_t>(segment.sequence >> 16U));
    put_big_endian(frame, at(ethernet::tcp::sequence) + 2, static_cast<std::uint16_t>(segment.sequence));
    frame[at(ethernet::tcp::data_offset)] = static_cast<std::uint8_t>((20 + options.size()) << 2U);
    frame[at(ethernet::tcp::flags)] = segment.flags;
    put_big_endian(frame, tcp_checksum_offset, 0);
    const std::uint16_t pseudo = pseudo_sum(frame, tcp, frame.size() - transport_offset);
    put_big_endian(frame, tcp_checksum_offset,
                   simple_checksum(std::span(frame).subspan(transport_offset), pseudo));
    return frame;
}

// So many bytes, `each` in a segment, the last with PSH.
inline std::vector<Bytes> make_stream(std::size_t bytes, std::size_t each, Segment first = {}) {
    const Bytes data = pattern(bytes);
    std::vector<Bytes> frames;
    for (std::size_t done = 0; done < bytes; done += each) {
        const auto end = data.begin() + static_cast<std::ptrdiff_t>(std::min(bytes, done + each));
        first.payload.assign(data.begin() + static_cast<std::ptrdiff_t>(done), end);
        first.flags =
            static_cast<std::uint8_t>(first.flags | (end == data.end() ? ethernet::tcp::flag_psh : 0));
        frames.push_back(make_segment(first));
        first.sequence += static_cast<std::uint32_t>(first.payload.size());
        ++first.identification;
    }
    return frames;
}

constexpr ethernet::Unfinished left_checksum{.checksum_start = transport_offset,
                                             .checksum_offset = ethernet::tcp::checksum};

inline Bytes without_checksum(Bytes frame) {
    put_big_endian(frame, tcp_checksum_offset, pseudo_sum(frame, tcp, frame.size() - transport_offset));
    return frame;
}

} // namespace previrt
