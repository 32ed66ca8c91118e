// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "ethernet/unfinished.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace previrt::monitored {

// A pipe of packets in shared memory, with one writer and one reader. Each of them writes one of the
// counters, which only grow (modulo 2^32).
struct PacketRing {
    std::uint32_t produced;
    std::uint32_t writer_waits; // 1: the writer wants the doorbell when there is room; the reader clears it
    std::uint32_t reserved[14]; // a cache line for each
    std::uint32_t consumed;
    std::uint32_t reader_waits; // 1: the reader wants the doorbell for new packets; the writer clears it
    std::uint32_t reserved2[14];
    // Each packet lies in one piece behind its header, with the header's alignment.
    std::uint8_t bytes[std::uint32_t{1} << 18U]; // a power of two: the counters wrap
};
static_assert(sizeof(PacketRing) == (1U << 18U) + 128);

constexpr std::uint32_t longest_packet = 65535 + 14 + 4; // IPv4's, with a frame's header and its tag
constexpr std::uint32_t most_room =
    longest_packet + 9220; // the segment joiner writes the next candidate segment behind the packet

struct PacketState {
    ethernet::Unfinished left;
    bool is_verified; // its checksums need no check
};

struct PacketHeader {
    std::uint32_t bytes;
    std::uint32_t is_verified;
    ethernet::Unfinished left;
};
static_assert(sizeof(PacketHeader) == 16);

struct RingPacket {
    std::span<std::uint8_t> bytes; // in the ring
    PacketState state;
};

// The ends of the ring. The peer can write all of the ring at any time. Therefore an end keeps its own
// counter and never reads it back; it reads the peer's counter once, and believes it only within the ring's
// size.

class PacketWriter {
public:
    explicit PacketWriter(PacketRing& ring) : ring_(ring) {}

    // Room for the next packet: at least `least` bytes (at most longest_packet), and up to most_room if there
    // is more. Empty: there is no room now.
    std::span<std::uint8_t> reserve(std::uint32_t least);
    // The packet has this size: not 0, and not more than was reserved.
    void commit(std::uint32_t bytes, const PacketState& state = {});
    // Called once after some packets: whether the reader waits for the doorbell.
    bool must_call();
    // Announces that the writer waits for that much room. False: there is room already.
    bool wait(std::uint32_t least);

private:
    PacketRing& ring_;
    std::uint32_t produced_ = 0;
    std::uint32_t start_ = 0; // of the reserved bytes
};

class PacketReader {
public:
    explicit PacketReader(PacketRing& ring) : ring_(ring) {}

    // The first packet. It stays until release(); the writer may change its bytes meanwhile. nullopt: there
    // is none. An invalid packet is dropped, together with all packets behind it.
    std::optional<RingPacket> next();
    void release();
    // Called once after some packets: whether the writer waits for the doorbell.
    bool must_call();
    // Announces that the reader waits for a packet. False: one has come already.
    bool wait();

private:
    PacketRing& ring_;
    std::uint32_t consumed_ = 0;
    std::uint32_t end_ = 0; // of the first packet
};

} // namespace previrt::monitored
