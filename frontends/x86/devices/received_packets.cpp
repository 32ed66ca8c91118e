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

constinit SegmentCutter cutter{}; // of the first packet that has come

// Linux's driver takes all that comes before any program does. A program that is to have some of it needs
// time when nothing comes: as long as the guest took to make room for more, or until it has nothing else to
// do.
std::optional<std::uint64_t> closed_at;
std::uint64_t opens_at;
bool is_paused; // and something waits

bool is_open(std::uint64_t now) {
    if (!pc.network.receives_at_once()) {
        closed_at = closed_at.value_or(now);
        return false;
    }
    if (closed_at) {
        opens_at = now + (now - *closed_at);
        closed_at.reset();
    }
    is_paused = now < opens_at;
    return !is_paused;
}

// False: the card has no room for all of it.
bool receive_segments(const backend::ReceivedPacket& packet, std::uint64_t now) {
    while (cutter.has_next()) {
        if (!is_open(now)) {
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
    is_paused = false;
    if (pc.processor_rests()) {
        closed_at.reset();
        opens_at = now;
    }
    if (pc.network.receive_requested()) {
        pc.network.serve_receiver(card_memory, now);
    }
    while (const std::optional<backend::ReceivedPacket> packet = backend::received_packet()) {
        if (!is_open(now) || !receive_packet(*packet, now)) {
            return;
        }
        backend::release_packet();
    }
}

std::optional<std::uint64_t> pause_ends_at() {
    return is_paused ? std::optional(opens_at) : std::nullopt;
}

void drop_received_packets() {
    cutter.stop();
    while (backend::received_packet()) {
        backend::release_packet();
    }
}

} // namespace previrt
