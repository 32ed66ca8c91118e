// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/guest_network.hpp"

#include "host/input_error.hpp"
#include "monitor/guest/confinement.hpp"
#include "monitor/network/cable_signals.hpp"
#include "monitor/network/switch/return.hpp"

#include <algorithm>
#include <atomic>
#include <iostream>
#include <sys/eventfd.h>
#include <utility>

namespace previrt {

GuestNetwork::GuestNetwork(const NetworkChoice& choice, bool has_cable)
    : choice_(choice), end_(choice), events_{.sent = make_event(),
                                             .ended = make_event(),
                                             .cable = has_cable ? hold_cable_signals() : make_event(),
                                             .lost = make_event(),
                                             .restored = make_event()} {}

void GuestNetwork::describe(monitored::NetworkStart& start) const {
    std::ranges::copy(choice_.mac, start.address);
    start.is_there = true;
    start.finishes_packets = end_.packets().has_headers;
}

void GuestNetwork::judge_isolation(const RunOptions& options) const {
    const std::string lacking = end_.lacking();
    if (lacking.empty()) {
        return;
    }
    const std::string text =
        "nothing but its user keeps the process of --net user from reading this machine's files (" + lacking +
        "; Linux has it from 5.13 on, where lsm= names landlock)";
    if (options.require_isolation) {
        throw InputError("--require-isolation: " + text);
    }
    std::cerr << "previrt: warning: " << text << '\n';
}

void GuestNetwork::relay(monitored::NetworkStart& start, const GuestRings& rings,
                         const std::function<void()>& call_guest, pid_t group) {
    std::optional<SwitchReturn> switch_return; // its thread does not touch the guest's memory
    if (choice_.kind == NetworkKind::by_switch) {
        switch_return.emplace(choice_.name, end_.packets().number, events_);
    }
    confine_relay_thread(group);
    const auto link_changed = [&](bool up) {
        std::atomic_ref(start.is_down).store(!up);
        call_guest();
    };
    PacketRelay relay(events_, end_.packets(), rings.sent, rings.received, call_guest, link_changed);
    relay.run();
    counts_ = relay.counts();
}

void GuestNetwork::end() const {
    eventfd_write(events_.ended.number(), 1);
}

void GuestNetwork::describe_end(std::ostream& output) const {
    output << "previrt: network: sent " << counts_.sent << " packets, " << counts_.sent_bytes << " bytes, "
           << counts_.sent_dropped << " dropped; received " << counts_.received << " packets, "
           << counts_.received_bytes << " bytes, " << counts_.received_dropped
           << " dropped; calls: " << counts_.calls << " of the guest, " << counts_.calls_by_guest << " by it"
           << (counts_.ends_lost != 0
                   ? "; the other end went away, " + std::to_string(counts_.ends_lost) + " times"
                   : "")
           << '\n';
}

std::optional<GuestNetwork> open_guest_network(const std::string& net, bool has_cable) {
    const NetworkChoice choice = parse_network(net);
    return choice.kind == NetworkKind::none ? std::nullopt
                                            : std::optional<GuestNetwork>(std::in_place, choice, has_cable);
}

PacketThread packet_thread(std::optional<GuestNetwork>& network, monitored::NetworkStart& start,
                           const GuestRings& rings, std::function<void()> call_guest, pid_t group) {
    if (!network) {
        return {};
    }
    return {.run = [&network, &start, rings, call = std::move(call_guest),
                    group] { network->relay(start, rings, call, group); },
            .end = [&network] { network->end(); },
            .process = network->process(),
            .connects = network->connects()};
}

} // namespace previrt
