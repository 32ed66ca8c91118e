// SPDX-License-Identifier: BSD-2-Clause
#include "ethernet/segment_joiner.hpp"

#include "ethernet/ipv4_packet.hpp"

#include <cstring>

namespace previrt::ethernet {

namespace {

bool has_no_padding(Frame frame) {
    return header_bytes + read_big_endian(frame, header_bytes + ip::total_length) == frame.size();
}

} // namespace

SegmentJoiner::SegmentJoiner(std::span<std::uint8_t> room, std::uint32_t bytes, const Unfinished& left)
    : room_(room), bytes_(bytes), left_(left) {
    const Frame frame = room.first(bytes);
    if (can_begin(frame)) {
        goes_on_ = true;
        header_bytes_ = tcp::start + tcp::header_length(frame, tcp::start);
        segment_bytes_ = payload_bytes();
        std::memcpy(headers_.data(), frame.data(), header_bytes_);
    }
}

bool SegmentJoiner::can_begin(Frame frame) const {
    return left_.checksum_start == tcp::start && left_.checksum_offset == tcp::checksum &&
           frame.size() >= tcp::start + tcp::least && has_no_padding(frame) &&
           tcp::header_length(frame, tcp::start) >= tcp::least &&
           frame.size() >= tcp::start + tcp::header_length(frame, tcp::start) + least_segment &&
           frame[tcp::start + tcp::flags] == tcp::flag_ack;
}

std::span<std::uint8_t> SegmentJoiner::next(std::uint32_t bytes) {
    const std::uint32_t place = payload_bytes(); // its payload goes behind the joined payload
    if (!goes_on_ || bytes_ + segment_bytes_ > longest || bytes > room_.size() - place) {
        return {};
    }
    std::memcpy(end_.data(), &room_[place], header_bytes_);
    return room_.subspan(place, bytes);
}

void SegmentJoiner::restore() {
    std::memcpy(&room_[payload_bytes()], end_.data(), header_bytes_);
}

// The headers must be equal, except lengths, sequence numbers and checksums.
bool SegmentJoiner::follows(Frame frame, const Unfinished& left) const {
    if (frame.size() <= header_bytes_ || frame.size() - header_bytes_ > segment_bytes_ ||
        !has_no_padding(frame) || left.checksum_start != tcp::start ||
        left.checksum_offset != tcp::checksum) {
        return false;
    }
    const auto same = [&](std::uint32_t from, std::uint32_t to) {
        return std::memcmp(frame.data() + from, headers_.data() + from, to - from) == 0;
    };
    const auto number_after = [&](std::uint32_t place, std::uint32_t distance) {
        return read_big_endian(frame, place) ==
               static_cast<std::uint16_t>(read_big_endian(headers_, place) + distance);
    };
    constexpr std::uint32_t sequence = tcp::start + tcp::sequence;
    return read_big_endian_32(frame, sequence) == read_big_endian_32(headers_, sequence) + payload_bytes() &&
           number_after(header_bytes + ip::identification, segments_) &&
           (frame[tcp::start + tcp::flags] & ~tcp::flags_of_last) == tcp::flag_ack &&
           same(0, header_bytes + ip::total_length) &&
           same(header_bytes + ip::identification + 2, header_bytes + ip::checksum) &&
           same(header_bytes + ip::addresses, sequence) &&
           same(tcp::start + tcp::acknowledgment, tcp::start + tcp::flags) &&
           same(tcp::start + tcp::window, tcp::start + tcp::checksum) &&
           same(tcp::start + tcp::urgent_pointer, header_bytes_);
}

bool SegmentJoiner::append(std::uint32_t bytes, const Unfinished& left) {
    const Frame frame = room_.subspan(payload_bytes(), bytes);
    if (!follows(frame, left)) {
        return false;
    }
    const std::uint8_t flags = frame[tcp::start + tcp::flags];
    restore();
    last_flags_ = flags;
    goes_on_ = bytes - header_bytes_ == segment_bytes_ && (flags & tcp::flags_of_last) == 0;
    bytes_ += bytes - header_bytes_;
    ++segments_;
    return true;
}

Unfinished SegmentJoiner::finish() {
    if (segments_ == 1) {
        return left_;
    }
    const std::uint32_t total = bytes_ - header_bytes;
    write_big_endian(headers_, header_bytes + ip::total_length, static_cast<std::uint16_t>(total));
    headers_[tcp::start + tcp::flags] = last_flags_;
    const Ipv4Packet packet{.start = header_bytes,
                            .whole = true,
                            .protocol = protocol_tcp,
                            .header = ip::least,
                            .payload = total - ip::least};
    fill_header_checksum(headers_, packet);
    leave_transport_checksum(headers_, packet, tcp_transport);
    std::memcpy(room_.data(), headers_.data(), header_bytes_);
    return {.checksum_start = left_.checksum_start,
            .checksum_offset = left_.checksum_offset,
            .segment_bytes = static_cast<std::uint16_t>(segment_bytes_),
            .header_bytes = static_cast<std::uint16_t>(header_bytes_)};
}

} // namespace previrt::ethernet
