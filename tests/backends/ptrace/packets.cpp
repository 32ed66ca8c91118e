// SPDX-License-Identifier: BSD-2-Clause
// There is no network: the front-end asks for its address and for nothing else.
#include "inplace-vmm/backend/packets.hpp"
#include "inplace-vmm/stop.hpp"

namespace previrt::backend {

namespace {

constexpr const char* no_network = "there is no network, and the front-end uses it";

} // namespace

std::optional<NetworkAddress> network_address() {
    return std::nullopt;
}

bool network_is_up() {
    stop_guest(no_network);
}

bool takes_unfinished_packets() {
    stop_guest(no_network);
}

std::span<std::uint8_t> packet_room(std::uint32_t /*least*/) {
    stop_guest(no_network);
}

void send_packet(std::uint32_t /*bytes*/, const ethernet::Unfinished& /*left*/) {
    stop_guest(no_network);
}

std::optional<ReceivedPacket> received_packet() {
    stop_guest(no_network);
}

void release_packet() {
    stop_guest(no_network);
}

void notify_packets() {
    stop_guest(no_network);
}

} // namespace previrt::backend
