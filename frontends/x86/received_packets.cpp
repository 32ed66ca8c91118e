// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/received_packets.hpp"

#include "devices/ethernet/ipv4_packet.hpp"
#include "devices/ethernet/segment_cutter.hpp"
#include "frontends/x86/card_memory.hpp"
#include "frontends/x86/machine.hpp"
#include "inplace-vmm/backend.hpp"
#include "inplace-vmm/counters.hpp"

namespace previrt {

using namespace ethernet;

namespace {

constinit SegmentCutter cutter{}; // of the first packet that has come

// False: the card has no room for all of it.
bool receive_segments(const backend::ReceivedPacket& packet, std::uint64_t now) {
    while (cutter.has_next()) {
        if (!pc.network.can_receive(cutter.next_bytes())) {
            return false;
        }
        ++counters.packets_received;
        pc.network.receive(card_memory, cutter.next(packet.bytes), Dp83820::Checksums::trusted, now);
    }
    return true;
}

bool receive_packet(const backend::ReceivedPacket& packet, std::uint64_t now) {
    if (cutter.has_next() ||
        (packet.segment_bytes != 0 && cutter.start(packet.bytes, packet.segment_bytes))) {
        return receive_segments(packet, now);
    }
    if (!pc.network.can_receive(static_cast<std::uint32_t>(packet.bytes.size()))) {
        return false;
    }
    if (packet.lacks_checksum) {
        finish_checksum(packet.bytes);
    }
    ++counters.packets_received;
    pc.network.receive(card_memory, packet.bytes,
                       packet.is_verified || packet.lacks_checksum ? Dp83820::Checksums::trusted
                                                                   : Dp83820::Checksums::unverified,
                       now);
    return true;
}

} // namespace

// What the card has no room for stays with the back-end, whose sender waits.
void receive_packets(std::uint64_t now) {
    if (pc.network.receive_requested()) {
        pc.network.serve_receiver(card_memory, now);
    }
    while (const std::optional<backend::ReceivedPacket> packet = backend::received_packet()) {
        if (!receive_packet(*packet, now)) {
            return;
        }
        backend::release_packet();
    }
}

void drop_received_packets() {
    cutter.stop();
    while (backend::received_packet()) {
        backend::release_packet();
    }
}

} // namespace previrt
