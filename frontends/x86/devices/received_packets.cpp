// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/devices/received_packets.hpp"

#include "ethernet/ipv4_packet.hpp"
#include "ethernet/segment_cutter.hpp"
#include "frontends/x86/devices/dma_memory.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "inplace-vmm/backend/packets.hpp"
#include "inplace-vmm/counters.hpp"

#include <optional>

namespace previrt {

using namespace ethernet;

namespace {

constexpr ReceivedPackets& received = machine_state.received;

// Linux's driver takes all arriving frames before any program runs. Programs can only take them during a
// pause: as long as the guest took to make room, or until it has nothing else to do.

bool is_open(std::uint64_t now) {
    if (!pc.network.receives_at_once()) {
        received.closed_at = received.closed_at.value_or(now);
        return false;
    }
    if (received.closed_at) {
        received.opens_at = now + (now - *received.closed_at);
        received.closed_at.reset();
    }
    received.is_paused = now < received.opens_at;
    return !received.is_paused;
}

// False: the card has no room for all of it.
bool receive_segments(const backend::ReceivedPacket& packet, std::uint64_t now) {
    while (received.cutter.has_next()) {
        if (!is_open(now)) {
            return false;
        }
        ++counters.packets_received;
        pc.network.receive(dma_memory, received.cutter.next(packet.bytes), Dp83820::Checksums::trusted, now);
    }
    return true;
}

bool receive_packet(const backend::ReceivedPacket& packet, std::uint64_t now) {
    if (received.cutter.has_next() ||
        (packet.segment_bytes != 0 && received.cutter.start(packet.bytes, packet.segment_bytes))) {
        return receive_segments(packet, now);
    }
    if (packet.lacks_checksum) {
        finish_checksum(packet.bytes);
    }
    ++counters.packets_received;
    pc.network.receive(dma_memory, packet.bytes,
                       packet.is_verified || packet.lacks_checksum ? Dp83820::Checksums::trusted
                                                                   : Dp83820::Checksums::unverified,
                       now);
    return true;
}

} // namespace

// Packets for which the card has no room stay with the back-end, whose sender waits.
void receive_packets(std::uint64_t now) {
    received.is_paused = false;
    if (pc.processor_rests()) {
        received.closed_at.reset();
        received.opens_at = now;
    }
    if (pc.network.receive_requested()) {
        pc.network.serve_receiver(dma_memory, now);
    }
    while (const std::optional<backend::ReceivedPacket> packet = backend::received_packet()) {
        if (!is_open(now) || !receive_packet(*packet, now)) {
            return;
        }
        backend::release_packet();
    }
}

std::optional<std::uint64_t> pause_ends_at() {
    return received.is_paused ? std::optional(received.opens_at) : std::nullopt;
}

void drop_received_packets() {
    received.cutter.stop();
    // Nothing serves the receiver now. Once the end of its pause has passed, each timer for it would expire
    // at once.
    received.is_paused = false;
    while (backend::received_packet()) {
        backend::release_packet();
    }
}

} // namespace previrt
