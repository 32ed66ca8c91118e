// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/sent_packets.hpp"

#include "devices/ethernet/segment_joiner.hpp"
#include "frontends/x86/card_memory.hpp"
#include "frontends/x86/machine.hpp"
#include "inplace-vmm/backend.hpp"
#include "inplace-vmm/counters.hpp"

#include <cstring>
#include <optional>

namespace previrt {

using namespace ethernet;

namespace {

// A frame that the card has given away already, and that is not the back-end's yet.
struct WaitingFrame {
    std::uint8_t bytes[Dp83820::transmit_room];
    std::uint32_t size; // 0: there is none
    Unfinished left;
};
constinit WaitingFrame waiting{};

Dp83820::Transmitted next_frame(std::span<std::uint8_t> room, std::uint64_t now) {
    if (waiting.size != 0) {
        std::memcpy(room.data(), waiting.bytes, waiting.size);
        const std::uint32_t size = waiting.size;
        waiting.size = 0;
        return {.outcome = Dp83820::Outcome::frame, .frame = room.first(size), .left = waiting.left};
    }
    const auto checksums =
        backend::takes_unfinished_packets() ? Dp83820::SentChecksums::left : Dp83820::SentChecksums::complete;
    const Dp83820::Transmitted sent =
        pc.network.transmit(card_memory, room.first<Dp83820::transmit_room>(), checksums, now);
    counters.packets_sent += sent.outcome == Dp83820::Outcome::frame ? 1 : 0;
    return sent;
}

// Segments of a stream in a room of the back-end's.
constinit std::optional<SegmentJoiner> packet;
std::uint64_t packet_due;
std::uint64_t last_appended;

constexpr std::uint64_t longest_hold = 200'000; // behind a time in which none has been appended
constexpr std::uint64_t longest_pause = 100'000;

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
    const Dp83820::Transmitted sent = next_frame(room, now);
    if (sent.outcome == Dp83820::Outcome::frame) {
        packet.emplace(room, static_cast<std::uint32_t>(sent.frame.size()), sent.left);
        packet_due = now + longest_hold;
        last_appended = now;
    }
    return true;
}

void append_to(SegmentJoiner& joined, std::uint64_t now) {
    const std::span<std::uint8_t> place = joined.next(Dp83820::transmit_room);
    if (place.empty()) {
        end_packet(joined);
        return;
    }
    const Dp83820::Transmitted sent = next_frame(place, now);
    const auto size = static_cast<std::uint32_t>(sent.frame.size());
    if (sent.outcome == Dp83820::Outcome::frame && joined.append(size, sent.left)) {
        last_appended = now;
        return;
    }
    std::memcpy(waiting.bytes, place.data(), size);
    waiting.size = size;
    waiting.left = sent.left;
    joined.restore();
    if (sent.outcome == Dp83820::Outcome::frame) {
        end_packet(joined);
    }
}

bool is_held(const SegmentJoiner& joined, std::uint64_t now) {
    if (!joined.goes_on() || pc.processor_rests()) {
        return false;
    }
    if (now >= packet_due) {
        packet_due = now + longest_hold;
        return now - last_appended < longest_pause;
    }
    return true;
}

} // namespace

void send_packets(std::uint64_t now) {
    while (waiting.size != 0 || pc.network.transmit_requested()) {
        if (packet) {
            append_to(*packet, now);
        } else if (!begin_packet(now)) {
            return;
        }
    }
    if (packet && !is_held(*packet, now)) {
        end_packet(*packet);
    }
}

std::optional<std::uint64_t> held_packet_due() {
    return packet ? std::optional(packet_due) : std::nullopt;
}

void flush_packets() {
    if (packet) {
        end_packet(*packet);
    }
}

} // namespace previrt
