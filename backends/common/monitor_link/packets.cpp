// SPDX-License-Identifier: BSD-2-Clause
// Two rings of packets, with the monitor at their other ends.
#include "inplace-vmm/backend/packets.hpp"
#include "backends/common/monitor_link/doorbells.hpp"
#include "inplace-vmm/counters.hpp"

#include <algorithm>

namespace previrt::backend {

using namespace monitored;

namespace {

PacketWriter& writer() {
    static PacketWriter sent(*reinterpret_cast<PacketRing*>(place_of(network().sent)));
    return sent;
}

PacketReader& reader() {
    static PacketReader received(*reinterpret_cast<PacketRing*>(place_of(network().received)));
    return received;
}

bool has_sent;
bool has_released;

} // namespace

std::optional<NetworkAddress> network_address() {
    if (!network().is_there) {
        return {};
    }
    NetworkAddress address{};
    std::ranges::copy(network().address, address.begin());
    return address;
}

bool network_is_up() {
    return !__atomic_load_n(&network().is_down, __ATOMIC_ACQUIRE);
}

bool takes_unfinished_packets() {
    return network().finishes_packets;
}

std::span<std::uint8_t> packet_room(std::uint32_t least) {
    const std::span<std::uint8_t> room = writer().reserve(least);
    return !room.empty() || writer().wait(least) ? room : writer().reserve(least);
}

void send_packet(std::uint32_t bytes, const ethernet::Unfinished& left) {
    writer().commit(bytes, {.left = left, .is_verified = false});
    has_sent = true;
}

std::optional<ReceivedPacket> received_packet() {
    std::optional<RingPacket> packet = reader().next();
    if (!packet && !reader().wait()) {
        packet = reader().next();
    }
    if (!packet) {
        return {};
    }
    return ReceivedPacket{.bytes = packet->bytes,
                          .segment_bytes = packet->state.left.segment_bytes,
                          .lacks_checksum = packet->state.left.checksum_start != 0,
                          .is_verified = packet->state.is_verified};
}

void release_packet() {
    reader().release();
    has_released = true;
}

void notify_packets() {
    // Call both, because each clears its flag.
    const bool reader_waits = has_sent && writer().must_call();
    const bool writer_waits = has_released && reader().must_call();
    has_sent = false;
    has_released = false;
    if (reader_waits || writer_waits) {
        ++counters.packet_calls;
        ring_for_packets();
    }
}

} // namespace previrt::backend
