// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/devices/sent_packets.hpp"

#include "ethernet/segment_joiner.hpp"
#include "frontends/x86/devices/dma_memory.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "inplace-vmm/backend/packets.hpp"
#include "inplace-vmm/counters.hpp"

#include <cstring>
#include <optional>

namespace previrt {

using namespace ethernet;

namespace {

constexpr SentPackets& sent = machine_state.sent;

Dp83820::Transmitted next_frame(std::span<std::uint8_t> room, std::uint64_t now) {
    if (sent.waiting.size != 0) {
        std::memcpy(room.data(), sent.waiting.bytes, sent.waiting.size);
        const std::uint32_t size = sent.waiting.size;
        sent.waiting.size = 0;
        return {.outcome = Dp83820::Outcome::frame, .frame = room.first(size), .left = sent.waiting.left};
    }
    const auto checksums =
        backend::takes_unfinished_packets() ? Dp83820::SentChecksums::left : Dp83820::SentChecksums::complete;
    const Dp83820::Transmitted given =
        pc.network.transmit(dma_memory, room.first<Dp83820::transmit_room>(), checksums, now);
    counters.packets_sent += given.outcome == Dp83820::Outcome::frame ? 1 : 0;
    return given;
}

// The first segment in the back-end's room, with the segments that follow it. Not part of the machine's
// state: flush_packets() sends it.
[[gnu::section(".bss.cache")]] constinit std::optional<SegmentJoiner> packet;

// While the processor has work, frames wait for further ones: looking at the descriptors, ringing the peer
// and setting a timer cost as much for one frame as for many.
constexpr std::uint64_t longest_wait = 100'000;
constexpr unsigned most_repeated = 31; // requests after the first

void end_packet(SegmentJoiner& joined) {
    const Unfinished left = joined.finish();
    backend::send_packet(joined.bytes(), left);
    packet.reset();
}

// False: there is no room.
bool begin_packet(std::uint64_t now) {
    const std::span<std::uint8_t> room = backend::packet_room(Dp83820::transmit_room);
    if (room.empty()) {
        return false;
    }
    const Dp83820::Transmitted given = next_frame(room, now);
    if (given.outcome == Dp83820::Outcome::frame) {
        packet.emplace(room, static_cast<std::uint32_t>(given.frame.size()), given.left);
        sent.has_grown = true;
    }
    return true;
}

void append_to(SegmentJoiner& joined, std::uint64_t now) {
    const std::span<std::uint8_t> place = joined.next(Dp83820::transmit_room);
    if (place.empty()) {
        end_packet(joined);
        return;
    }
    const Dp83820::Transmitted given = next_frame(place, now);
    const auto size = static_cast<std::uint32_t>(given.frame.size());
    if (given.outcome == Dp83820::Outcome::frame && joined.append(size, given.left)) {
        sent.has_grown = true;
        return;
    }
    std::memcpy(sent.waiting.bytes, place.data(), size);
    sent.waiting.size = size;
    sent.waiting.left = given.left;
    joined.restore();
    if (given.outcome == Dp83820::Outcome::frame) {
        end_packet(joined);
    }
}

bool has_frames() {
    return sent.waiting.size != 0 || pc.network.transmit_requested();
}

void take_frames(std::uint64_t now) {
    sent.has_grown = false;
    sent.lacks_room = false;
    while (!sent.lacks_room && has_frames()) {
        if (packet) {
            append_to(*packet, now);
        } else {
            sent.lacks_room = !begin_packet(now);
        }
    }
}

void wait_from(std::uint64_t now) {
    sent.due = now + longest_wait;
    sent.repeated = 0;
}

bool may_wait(std::uint64_t now) {
    if (sent.lacks_room || pc.processor_rests()) {
        return false;
    }
    if (!sent.due) {
        wait_from(now);
        return true;
    }
    return now < *sent.due && sent.repeated < most_repeated;
}

} // namespace

void send_packets(std::uint64_t now) {
    if (!packet && !has_frames()) {
        sent.due.reset();
        return;
    }
    if (may_wait(now)) {
        return;
    }
    take_frames(now);
    sent.due.reset();
    if (packet && packet->goes_on() && sent.has_grown && !pc.processor_rests()) {
        wait_from(now);
    } else if (packet) {
        end_packet(*packet);
    }
}

bool transmission_waits() {
    return sent.due && ++sent.repeated < most_repeated;
}

std::optional<std::uint64_t> transmission_due() {
    return sent.due;
}

void flush_packets() {
    sent.due.reset();
    if (packet) {
        end_packet(*packet);
    }
}

} // namespace previrt
