// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/devices/network.hpp"

#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/devices/received_packets.hpp"
#include "frontends/x86/devices/sent_packets.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/packets.hpp"
#include "inplace-vmm/stop.hpp"

#include <algorithm>

namespace previrt {

namespace {

void follow_link(std::uint64_t now) {
    if (pc.network.link() != backend::network_is_up()) {
        pc.network.set_link(backend::network_is_up(), now);
    }
}

} // namespace

void insert_network_card() {
    const std::optional<backend::NetworkAddress> address = backend::network_address();
    if (!address) {
        return;
    }
    if (backend::guest_ram_bytes() > Pc::network_memory) {
        stop_guest("the registers of the network card would lie in the RAM of this guest, at",
                   Pc::network_memory);
    }
    pc.insert_network_card(*address);
}

void move_packets(std::uint64_t now) {
    if (!pc.has_network) {
        return;
    }
    follow_link(now);
    if (pc.network_masters_bus()) {
        send_packets(now);
        receive_packets(now);
    } else {
        flush_packets();
        drop_received_packets();
    }
    pc.update_network_line(now);
    backend::notify_packets();
}

std::optional<std::uint64_t> packets_due() {
    const std::optional<std::uint64_t> sent = transmission_due();
    const std::optional<std::uint64_t> received = pause_ends_at();
    if (sent && received) {
        return std::min(*sent, *received);
    }
    return sent ? sent : received;
}

} // namespace previrt
