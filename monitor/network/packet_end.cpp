// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/packet_end.hpp"

#include "ethernet/internet_checksum.hpp"
#include "ethernet/segment_cutter.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/uio.h>
#include <unistd.h>

namespace previrt {

namespace {

// The header of Linux's tap devices; <linux/virtio_net.h> is no C++.
struct VirtioHeader {
    std::uint8_t flags;
    std::uint8_t segment_type;
    std::uint16_t header_bytes;
    std::uint16_t segment_bytes;
    std::uint16_t checksum_start;
    std::uint16_t checksum_offset;
};
static_assert(sizeof(VirtioHeader) == 10);

constexpr std::uint8_t needs_checksum = 1;
constexpr std::uint8_t data_valid = 2;
constexpr std::uint8_t no_segments = 0;
constexpr std::uint8_t tcp_of_ipv4 = 1;

ssize_t refuse() {
    errno = EINVAL;
    return -1;
}

VirtioHeader header_of(const ethernet::Unfinished& left) {
    VirtioHeader header{};
    if (left.checksum_start != 0) {
        header.flags = needs_checksum;
        header.checksum_start = left.checksum_start;
        header.checksum_offset = left.checksum_offset;
    }
    if (left.segment_bytes != 0) {
        header.segment_type = tcp_of_ipv4;
        header.segment_bytes = left.segment_bytes;
        header.header_bytes = left.header_bytes;
    }
    return header;
}

// The checksum field has the sum of the pseudo header, for every protocol. False: the field is outside the
// packet.
bool finish_checksum(std::span<std::uint8_t> packet, const VirtioHeader& header) {
    const std::size_t place = std::size_t{header.checksum_start} + header.checksum_offset;
    if (place + sizeof(std::uint16_t) > packet.size()) {
        return false;
    }
    auto checksum =
        static_cast<std::uint16_t>(~ethernet::internet_sum(packet.subspan(header.checksum_start)));
    checksum = checksum == 0 ? ethernet::all_ones : checksum; // UDP uses 0 for no checksum
    std::memcpy(&packet[place], &checksum, sizeof checksum);
    return true;
}

} // namespace

ssize_t PacketEnd::write(std::span<const std::uint8_t> packet, const ethernet::Unfinished& left) const {
    if (!has_headers) {
        const bool is_frame =
            packet.size() <= longest_frame && left.checksum_start == 0 && left.segment_bytes == 0;
        return is_frame ? ::write(number, packet.data(), packet.size()) : refuse();
    }
    VirtioHeader header = header_of(left);
    const std::array<iovec, 2> parts{
        {{.iov_base = &header, .iov_len = sizeof header},
         {.iov_base = const_cast<std::uint8_t*>(packet.data()), .iov_len = packet.size()}}};
    return ::writev(number, parts.data(), parts.size());
}

ssize_t PacketEnd::read(std::span<std::uint8_t> room, monitored::PacketState& state) const {
    state = {};
    if (!has_headers) {
        return ::read(number, room.data(), room.size());
    }
    VirtioHeader header{};
    const std::array<iovec, 2> parts{
        {{.iov_base = &header, .iov_len = sizeof header}, {.iov_base = room.data(), .iov_len = room.size()}}};
    const ssize_t got = ::readv(number, parts.data(), parts.size());
    if (got < static_cast<ssize_t>(sizeof header)) {
        return got;
    }
    const std::span packet = room.first(static_cast<std::size_t>(got) - sizeof header);
    const bool lacks_checksum = (header.flags & needs_checksum) != 0;
    state.is_verified = lacks_checksum || (header.flags & data_valid) != 0;
    if (header.segment_type == tcp_of_ipv4) {
        state.left.segment_bytes = header.segment_bytes;
    } else if (header.segment_type != no_segments || (lacks_checksum && !finish_checksum(packet, header))) {
        return 1; // no frame
    }
    return static_cast<ssize_t>(packet.size());
}

FrameCount count_frames(std::span<const std::uint8_t> packet, std::uint16_t segment_bytes) {
    ethernet::SegmentCutter cutter;
    if (segment_bytes == 0 || !cutter.start(packet, segment_bytes)) {
        return {.frames = 1, .bytes = packet.size()};
    }
    return {.frames = cutter.frames(), .bytes = cutter.bytes()};
}

} // namespace previrt
