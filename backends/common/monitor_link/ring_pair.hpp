// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/packet_ring.hpp"
#include "backends/common/monitor_link/doorbells.hpp"

namespace previrt::monitored {

// The VMM's ends of two rings, with the monitor at their other ends.
class RingPair {
public:
    RingPair(const Part& sent, const Part& received) : writer_(ring(sent)), reader_(ring(received)) {}

    // As PacketWriter::reserve. Empty: the doorbell rings when there is room.
    std::span<std::uint8_t> room(std::uint32_t least) {
        const std::span<std::uint8_t> room = writer_.reserve(least);
        return !room.empty() || writer_.wait(least) ? room : writer_.reserve(least);
    }
    void send(std::uint32_t bytes, const PacketState& state = {}) { writer_.commit(bytes, state); }
    // As PacketReader::next. nullopt: the doorbell rings when there is one.
    std::optional<RingPacket> next() {
        std::optional<RingPacket> packet = reader_.next();
        if (!packet && !reader_.wait()) {
            packet = reader_.next();
        }
        return packet;
    }
    void release() { reader_.release(); }
    // After some were sent or released: whether the monitor waits for the doorbell.
    bool must_call() { return monitored::must_call(writer_, reader_); }

private:
    static PacketRing& ring(const Part& part) { return *reinterpret_cast<PacketRing*>(place_of(part)); }

    PacketWriter writer_;
    PacketReader reader_;
};

} // namespace previrt::monitored
