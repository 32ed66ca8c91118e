// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/console_ports_start.hpp"
#include "backends/common/contract/packet_ring.hpp"
#include "host/program.hpp"
#include "monitor/guest/guest_threads.hpp"
#include "monitor/options.hpp"
#include "monitor/port/port_relay.hpp"

#include <functional>
#include <ostream>
#include <sys/types.h>
#include <vector>

namespace previrt {

struct PortRings {
    monitored::PacketRing& sent;
    monitored::PacketRing& received;
};

// The ports of a guest's console device, and the thread that moves their bytes.
class GuestPorts {
public:
    // Throws InputError.
    explicit GuestPorts(const RunOptions& options);

    [[nodiscard]] bool empty() const { return choices_.empty(); }
    // An eventfd: the guest's doorbell.
    [[nodiscard]] const Descriptor& called() const { return called_; }
    void describe(monitored::ConsolePortsStart& start) const;

    // `group`: see confine_relay_thread. Without ports it has no work. This must outlive it.
    [[nodiscard]] PortThread thread(const PortRings& rings, const std::function<void()>& call_guest,
                                    pid_t group = 0);
    // For --verbose.
    void describe(std::ostream& output) const;

private:
    void relay(PortRelay& guest, int signals);
    static void deliver(PortRelay& guest, int signals);

    std::vector<PortChoice> choices_;
    PortEnds ends_;
    Descriptor called_;
    Descriptor ended_;
};

} // namespace previrt
