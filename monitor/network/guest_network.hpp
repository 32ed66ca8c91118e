// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/network_start.hpp"
#include "backends/common/contract/packet_ring.hpp"
#include "host/program.hpp"
#include "monitor/guest/guest_threads.hpp"
#include "monitor/network/choice.hpp"
#include "monitor/network/end.hpp"
#include "monitor/network/packet_relay.hpp"
#include "monitor/options.hpp"

#include <functional>
#include <optional>
#include <ostream>
#include <string>

namespace previrt {

struct GuestRings {
    monitored::PacketRing& sent;
    monitored::PacketRing& received;
};

// The cable of a guest's network card: an end of a network of this machine, and the events by which the guest
// and the relay's thread ring each other.
class GuestNetwork {
public:
    // Create it before there is a guest: see UserNetwork. Throws InputError if this machine refuses
    // something. `has_cable`: signals pull it, and plug it in; with a command, they are the command's.
    GuestNetwork(const NetworkChoice& choice, bool has_cable);

    // The eventfd of the guest's doorbell.
    [[nodiscard]] const Descriptor& called() const { return events_.sent; }
    void describe(monitored::NetworkStart& start) const;
    [[nodiscard]] pid_t process() const { return end_.process(); } // of its own; 0: none
    [[nodiscard]] bool connects() const { return choice_.kind == NetworkKind::by_switch; }
    // Reports missing layers between this machine and the network's process, or throws: see judge_isolation.
    void judge_isolation(const RunOptions& options) const;

    // The thread's work: confines itself, then moves packets until the guest has ended. `start`: the guest's
    // hand-over. `group`: see confine_relay_thread.
    void relay(monitored::NetworkStart& start, const GuestRings& rings,
               const std::function<void()>& call_guest, pid_t group = 0);
    // The guest has ended.
    void end() const;
    // For --verbose, after relay().
    void describe_end(std::ostream& output) const;

private:
    NetworkChoice choice_;
    NetworkEnd end_;
    PacketEvents events_;
    PacketCounts counts_{};
};

// nullopt: `--net none`.
std::optional<GuestNetwork> open_guest_network(const std::string& net, bool has_cable = true);

// The thread of a network, which must outlive it: see GuestNetwork::relay. Without a network it has no work.
PacketThread packet_thread(std::optional<GuestNetwork>& network, monitored::NetworkStart& start,
                           const GuestRings& rings, std::function<void()> call_guest, pid_t group = 0);

} // namespace previrt
