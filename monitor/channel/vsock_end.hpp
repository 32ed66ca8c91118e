// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/packet_ring.hpp"
#include "monitor/channel/guest_stream.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace previrt {

// The host's end of a guest's vsock device: packets in two rings that the VMM shares. It keeps nothing for
// the guest but its streams, whose number is fixed: a packet for anything else is answered by a reset.
class VsockEnd {
public:
    // `call_guest`: rings the guest's doorbell.
    VsockEnd(std::uint64_t guest_cid, monitored::PacketRing& sent, monitored::PacketRing& received,
             std::function<void()> call_guest);

    // The stream must outlive this, or be removed.
    void add(GuestStream& stream) { streams_.push_back(&stream); }
    void remove(GuestStream& stream) { std::erase(streams_, &stream); }

    // Takes packets of the guest's, and hands on their contents. True: there may be more.
    bool receive();
    // Room for bytes of an open stream: as many as the guest takes. Empty: none now.
    std::span<std::uint8_t> room(const GuestStream& stream);
    // Sends the first bytes of that room, which was the last that was asked for.
    void send(GuestStream& stream, std::uint32_t bytes);
    // Sends the operations that the streams owe, and rings the guest if it waits. Call it before a wait.
    void finish();
    // Asks for a doorbell when the guest has sent packets or made room. False: it has done so already.
    bool wait();

private:
    void take(const monitored::RingPacket& packet);
    void answer(const vsock::Header& question, GuestStream* stream, vsock::Operation operation);
    bool send_operation(const vsock::Header& header);

    std::uint64_t guest_cid_;
    monitored::PacketReader sent_;
    monitored::PacketWriter received_;
    std::function<void()> call_guest_;
    std::vector<GuestStream*> streams_;
    std::span<std::uint8_t> reserved_; // by room(): fewer bytes might lie elsewhere in the ring
    bool lacks_room_ = false;          // in the ring to the guest
    bool cannot_answer_ = false;       // nor for a packet without bytes: the guest's packets have to wait
};

} // namespace previrt
