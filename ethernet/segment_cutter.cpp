// SPDX-License-Identifier: BSD-2-Clause
#include "ethernet/segment_cutter.hpp"

#include "ethernet/internet_checksum.hpp"

#include <algorithm>
#include <cstring>

namespace previrt::ethernet {

bool SegmentCutter::start(Frame packet, std::uint32_t segment_bytes) {
    stop();
    const std::optional<Ipv4Packet> found = find_ipv4(packet);
    if (!found || !transport_of(*found) || found->protocol != protocol_tcp || found->payload < tcp::least ||
        segment_bytes == 0) {
        return false;
    }
    std::memcpy(headers_.data(), packet.data(), std::min(packet.size(), headers_.size()));
    const std::uint32_t tcp_bytes = tcp::header_length(headers_, found->transport());
    if (tcp_bytes < tcp::least || tcp_bytes >= found->payload) {
        return false;
    }
    packet_ = *found;
    header_bytes_ = found->transport() + tcp_bytes;
    segment_bytes_ = segment_bytes;
    payload_bytes_ = found->payload - tcp_bytes;
    done_ = 0;
    std::uint8_t& flags = headers_[found->transport() + tcp::flags];
    last_flags_ = flags & tcp::flags_of_last;
    flags &= static_cast<std::uint8_t>(~tcp::flags_of_last);
    return true;
}

std::uint32_t SegmentCutter::next_payload() const {
    return std::min(segment_bytes_, payload_bytes_ - done_);
}

void SegmentCutter::write_headers(Frame payload) {
    const auto bytes = static_cast<std::uint32_t>(payload.size());
    packet_.payload = header_bytes_ - packet_.transport() + bytes;
    write_big_endian(headers_, packet_.start + ip::total_length,
                     static_cast<std::uint16_t>(packet_.header + packet_.payload));
    fill_header_checksum(headers_, packet_);
    headers_[packet_.transport() + tcp::flags] |= done_ + bytes == payload_bytes_ ? last_flags_ : 0;
    leave_transport_checksum(headers_, packet_, tcp_transport);
    const std::uint16_t headers = internet_sum(Frame(headers_).subspan(
        packet_.transport(), header_bytes_ - packet_.transport())); // with the pseudo header
    const auto checksum = static_cast<std::uint16_t>(~internet_sum(payload, headers));
    std::memcpy(&headers_[packet_.transport() + tcp::checksum], &checksum, sizeof(checksum));
}

Frame SegmentCutter::next(std::span<std::uint8_t> packet) {
    const std::uint32_t bytes = next_payload();
    const std::span<std::uint8_t> frame = packet.subspan(done_, header_bytes_ + bytes);
    write_headers(frame.subspan(header_bytes_));
    std::memcpy(frame.data(), headers_.data(), header_bytes_);
    done_ += bytes;

    const std::uint32_t number = packet_.start + ip::identification;
    write_big_endian(headers_, number, static_cast<std::uint16_t>(read_big_endian(headers_, number) + 1));
    const std::uint32_t sequence = packet_.transport() + tcp::sequence;
    write_big_endian_32(headers_, sequence, read_big_endian_32(headers_, sequence) + bytes);
    headers_[packet_.transport() + tcp::flags] &= static_cast<std::uint8_t>(~tcp::flag_cwr);
    return frame;
}

} // namespace previrt::ethernet
