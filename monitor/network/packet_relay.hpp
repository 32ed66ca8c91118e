// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/packet_ring.hpp"
#include "host/program.hpp"
#include "monitor/network/packet_end.hpp"
#include "monitor/network/stream_pace.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <span>

namespace previrt {

// Events (eventfd, nonblocking) of a relay.
struct PacketEvents {
    Descriptor sent;     // the guest's doorbell: it has sent packets, or made room in its receive ring
    Descriptor ended;    // the guest has ended
    Descriptor cable;    // see cable_signals.hpp
    Descriptor lost;     // the relay has lost its end, and does not touch it until `restored`
    Descriptor restored; // another end has the same number
};

// Counts of frames on the wire; a merged packet counts as its frames.
struct PacketCounts {
    std::uint64_t sent;
    std::uint64_t sent_bytes;
    std::uint64_t sent_dropped; // no frame, or no end takes it
    std::uint64_t received;
    std::uint64_t received_bytes;
    std::uint64_t received_dropped; // no frame, or the cable is out
    std::uint64_t calls;            // doorbells of the guest
    std::uint64_t calls_by_guest;
    std::uint64_t ends_lost;
};

// Moves packets between a guest's rings and an end. If the guest has no room, frames stay in the end; if the
// end has none, they stay in the ring. While the cable is out, packets from both sides are dropped.
class PacketRelay {
public:
    // `call_guest`: rings the guest's doorbell. `link_changed`: called by run().
    PacketRelay(
        const PacketEvents& events, const PacketEnd& end, monitored::PacketRing& sent,
        monitored::PacketRing& received, std::function<void()> call_guest,
        std::function<void(bool up)> link_changed = [](bool) {});

    // Until the guest has ended. If the end fails, the link goes down and the guest goes on: its packets are
    // dropped until the end is restored.
    void run();

    [[nodiscard]] bool end_lost() const { return end_lost_; }            // by any thread
    [[nodiscard]] const PacketCounts& counts() const { return counts_; } // after run()

private:
    // The reason why a batch stopped.
    enum class Stop : std::uint8_t {
        bound,   // its bound: there may be more
        nothing, // there are no more packets
        no_room, // there are more packets, and no room
    };

    Stop send();
    Stop write_packet(const monitored::RingPacket& packet);
    Stop receive();
    [[nodiscard]] bool link_is_up() const { return !end_lost_ && cable_in_; }
    void lose_end();
    void use_restored_end();
    void follow_cable();
    void call_if_asked();
    [[nodiscard]] bool guest_has_sent();
    bool rest(Stop sending, Stop receiving);
    bool wait_for_stream();
    bool sleep(Stop sending, Stop receiving);
    bool await(bool frames, bool room, const timespec* limit);

    const PacketEvents& events_;
    PacketEnd end_;
    monitored::PacketReader sent_;
    monitored::PacketWriter received_;
    std::function<void()> call_guest_;
    std::function<void(bool up)> link_changed_;
    bool end_has_frames_ = true; // as far as is known
    bool end_has_room_ = true;
    StreamPace pace_;
    bool cable_in_ = true;
    std::atomic<bool> end_lost_ = false;
    PacketCounts counts_{};
};

} // namespace previrt
