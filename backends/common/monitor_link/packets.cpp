// SPDX-License-Identifier: BSD-2-Clause
// Two rings of packets, with the monitor at their other ends.
#include "inplace-vmm/backend/packets.hpp"
#include "backends/common/contract/doorbells.hpp"
#include "backends/common/monitor_link/doorbells.hpp"
#include "backends/common/monitor_link/ring_pair.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"

#include <algorithm>

namespace previrt::backend {

using namespace monitored;

namespace {

RingPair& rings() {
    static RingPair pair(network().sent, network().received);
    return pair;
}

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
    return rings().room(least);
}

void send_packet(std::uint32_t bytes, const ethernet::Unfinished& left) {
    rings().send(bytes, {.left = left, .is_verified = false});
}

std::optional<ReceivedPacket> received_packet() {
    const std::optional<RingPacket> packet = rings().next();
    if (!packet) {
        return {};
    }
    return ReceivedPacket{.bytes = packet->bytes,
                          .segment_bytes = packet->state.left.segment_bytes,
                          .lacks_checksum = packet->state.left.checksum_start != 0,
                          .is_verified = packet->state.is_verified};
}

void release_packet() {
    rings().release();
}

void notify_packets() {
    if (rings().must_call()) {
        ++counters.packet_calls;
        count_crossing(doorbell_of_packets);
        ring_for_packets();
    }
}

} // namespace previrt::backend
