// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

enum class NetworkKind : std::uint8_t { none, user, tap, by_switch, interface };

struct PortForward {
    bool udp;
    std::string host_address; // IPv4, with dots
    std::uint16_t host_port;
    std::uint16_t guest_port;
    std::string text; // as the user gave it
};

using MacAddress = std::array<std::uint8_t, 6>;
std::string text_of(std::span<const std::uint8_t> hardware_address); // 52:54:..

// The parts of `--net`.
struct NetworkChoice {
    NetworkKind kind = NetworkKind::none;
    std::string name; // of the device, or the path of the switch's socket
    std::vector<PortForward> forwards;
    MacAddress mac{};
    unsigned mtu = 1500;        // of `user`
    bool host_loopback = false; // of `user`: the guest may connect to this machine's own addresses
};

// Throws InputError with the wrong part.
NetworkChoice parse_network(std::string_view text);

} // namespace previrt
