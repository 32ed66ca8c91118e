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
    std::uint32_t writer_waits; // 1: it wants to be called when there is room; the reader clears it
    std::uint32_t reserved[14]; // a cache line for each
    std::uint32_t consumed;
    std::uint32_t reader_waits; // 1: it wants to be called to what comes; the writer clears it
    std::uint32_t reserved2[14];
    // Each packet behind its header and aligned as that, in one piece.
    std::uint8_t bytes[std::uint32_t{1} << 18U]; // a power of two: the counters wrap
};
static_assert(sizeof(PacketRing) == (1U << 18U) + 128);

constexpr std::uint32_t longest_packet = 65535 + 14 + 4; // IPv4's, with a frame's header and its tag
constexpr std::uint32_t most_room =
    longest_packet + 9220; // who joins segments writes behind them what may be the next

struct PacketState {
    ethernet::Unfinished left;
    bool is_verified; // nobody need look at its checksums
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

// The ends. The other side can write all of the ring at any time: an end keeps its own counter and never
// reads it back, reads the other's once, and believes it as far as the ring's size.

class PacketWriter {
public:
    explicit PacketWriter(PacketRing& ring) : ring_(ring) {}

    // Where a packet of so many bytes goes, of longest_packet at most, and more up to most_room where there
    // is more. Empty: there is no room now.
    std::span<std::uint8_t> reserve(std::uint32_t least);
    // It has so many, not 0 and not more than were reserved.
    void commit(std::uint32_t bytes, const PacketState& state = {});
    // After the last of some: whether the reader waits to be called. Once is enough.
    bool must_call();
    // Before it waits for room for so many bytes: false where there is some.
    bool wait(std::uint32_t least);

private:
    PacketRing& ring_;
    std::uint32_t produced_ = 0;
    std::uint32_t start_ = 0; // of what is reserved
};

class PacketReader {
public:
    explicit PacketReader(PacketRing& ring) : ring_(ring) {}

    // The first, which stays until release(); its bytes may change meanwhile. nullopt: there is none. What is
    // no packet is dropped, with all that is behind it.
    std::optional<RingPacket> next();
    void release();
    // After the last of some: whether the writer waits to be called. Once is enough.
    bool must_call();
    // Before it waits for a packet: false where one has come.
    bool wait();

private:
    PacketRing& ring_;
    std::uint32_t consumed_ = 0;
    std::uint32_t end_ = 0; // of the first
};

} // namespace previrt::monitored
