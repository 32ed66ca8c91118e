// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/record_ring.hpp"
#include "ethernet/unfinished.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace previrt::monitored {

constexpr std::uint32_t longest_packet = 65536 + 44; // vsock's; IPv4's with its frame's header is shorter
constexpr std::uint32_t most_room =
    longest_packet + 9220; // the segment joiner writes the next candidate segment behind the packet

// A pipe of packets in shared memory, with one writer and one reader.
struct PacketRing {
    static constexpr std::uint32_t longest = longest_packet;
    RingCounters counters;
    std::uint8_t bytes[std::uint32_t{1} << 18U];
};
static_assert(sizeof(PacketRing) == (1U << 18U) + 128);

struct PacketState {
    ethernet::Unfinished left;
    bool is_verified; // its checksums need no check
};

struct RingPacket {
    std::span<std::uint8_t> bytes; // in the ring
    PacketState state;
};

class PacketWriter {
public:
    explicit PacketWriter(PacketRing& ring) : writer_(ring) {}

    // Room for the next packet: at least `least` bytes (at most longest_packet), and up to most_room if there
    // is more. Empty: there is no room now.
    std::span<std::uint8_t> reserve(std::uint32_t least);
    // The packet has this size: not 0, and not more than was reserved.
    void commit(std::uint32_t bytes, const PacketState& state = {});
    // Whether packets were committed since the last call, and the reader waits for the doorbell.
    bool must_call() { return std::exchange(has_committed_, false) && writer_.must_call(); }
    // As RecordWriter's.
    bool wait(std::uint32_t least) { return writer_.wait(least); }

private:
    RecordWriter<PacketRing> writer_;
    bool has_committed_ = false;
};

class PacketReader {
public:
    explicit PacketReader(PacketRing& ring) : reader_(ring) {}

    // As RecordReader's.
    std::optional<RingPacket> next();
    void release() {
        reader_.release();
        has_released_ = true;
    }
    // Whether packets were released since the last call, and the writer waits for the doorbell.
    bool must_call() { return std::exchange(has_released_, false) && reader_.must_call(); }
    bool wait() { return reader_.wait(); }

private:
    RecordReader<PacketRing> reader_;
    bool has_released_ = false;
};

// Whether the peer of both rings waits for the doorbell.
inline bool must_call(PacketWriter& writer, PacketReader& reader) {
    // Call both, because each clears its flag.
    const bool reader_waits = writer.must_call();
    const bool writer_waits = reader.must_call();
    return reader_waits || writer_waits;
}

} // namespace previrt::monitored
