// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/packet_ring.hpp"
#include "monitor/console/output_pump.hpp"
#include "monitor/port/choice.hpp"

#include <functional>
#include <memory>
#include <poll.h>
#include <span>
#include <vector>

namespace previrt {

// The host's ends of a guest's ports, which are descriptors of this process.
class PortEnds {
public:
    // Throws InputError.
    explicit PortEnds(const std::vector<PortChoice>& choices);

    // Starts the threads that write (OutputPump::start).
    void begin();

private:
    friend class PortRelay;

    struct Port {
        unsigned number;
        int input;                        // -1: none, or it is over
        std::unique_ptr<OutputPump> pump; // null: the guest's bytes are lost
        bool wants = false;               // the guest has room for some
        bool is_ready = false;            // there are some, or their end
    };

    [[nodiscard]] Port* find(unsigned number);

    std::vector<Port> ports_;
};

// Moves bytes between these ends and two rings of packets that the VMM shares. The guest may write into both
// rings at any time.
class PortRelay {
public:
    // `call_guest`: rings the guest's doorbell.
    PortRelay(PortEnds& ends, monitored::PacketRing& sent, monitored::PacketRing& received,
              std::function<void()> call_guest);

    // Moves what there is, and rings the guest if it waits. True: there may be more.
    bool serve();
    // What it waits for; `wait`: returns false if that has come already.
    void watch(std::vector<pollfd>& polls) const;
    bool wait();
    // The results, in the same order.
    void polled(std::span<const pollfd> polls);

    // The guest has ended: its last packets, and then the outputs' ends. Until this is true, call it after
    // each poll().
    bool deliver();

private:
    bool take_packets();
    void read_input(PortEnds::Port& port);
    void finish();

    PortEnds& ends_;
    monitored::PacketReader sent_;
    monitored::PacketWriter received_;
    std::function<void()> call_guest_;
    bool is_held_ = false;    // the first packet is for an output that takes no more now
    bool lacks_room_ = false; // in the ring to the guest
};

} // namespace previrt
