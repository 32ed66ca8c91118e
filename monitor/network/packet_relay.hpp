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

// Events (eventfd, nonblocking) for a relay.
struct PacketEvents {
    Descriptor sent;     // the guest's: something is in its ring, or there is room in ours
    Descriptor ended;    // there is no guest any more
    Descriptor cable;    // see cable_signals.hpp
    Descriptor lost;     // the relay's: its end is, and is not touched until
    Descriptor restored; // there is another of the same number
};

// Of frames on the wire, those too that are parts of one packet here.
struct PacketCounts {
    std::uint64_t sent;
    std::uint64_t sent_bytes;
    std::uint64_t sent_dropped; // no frame, or there is nothing that takes it
    std::uint64_t received;
    std::uint64_t received_bytes;
    std::uint64_t received_dropped; // no frame, or the cable is out
    std::uint64_t calls;            // of the guest
    std::uint64_t calls_by_guest;
    std::uint64_t ends_lost;
};

// Between a guest's rings and an end. Where the guest has no room, frames stay in the end; where the end has
// none, in the ring. While the cable is pulled out, what comes from either side is dropped.
class PacketRelay {
public:
    // `call_guest`: to its rings. `link_changed`: by run().
    PacketRelay(
        const PacketEvents& events, const PacketEnd& end, monitored::PacketRing& sent,
        monitored::PacketRing& received, std::function<void()> call_guest,
        std::function<void(bool up)> link_changed = [](bool) {});

    // Until the guest has ended. A frame that cannot be read or written any more is the end of the link, but
    // not of the guest: what it sends is dropped until the end is restored.
    void run();

    [[nodiscard]] bool end_lost() const { return end_lost_; }            // by any thread
    [[nodiscard]] const PacketCounts& counts() const { return counts_; } // after run()

private:
    // What stopped a batch.
    enum class Stop : std::uint8_t {
        bound,   // there may be more
        nothing, // there is no more
        no_room, // there is more, and no room for it
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
    bool has_committed_ = false; // in this batch
    bool has_released_ = false;
    StreamPace pace_;
    bool cable_in_ = true;
    std::atomic<bool> end_lost_ = false;
    PacketCounts counts_{};
};

} // namespace previrt
