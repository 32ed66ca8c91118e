// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

enum class NetworkKind : std::uint8_t { none, user, tap, by_switch };

struct PortForward {
    bool udp;
    std::string host_address; // IPv4, with dots
    std::uint16_t host_port;
    std::uint16_t guest_port;
    std::string text; // as it was given
};

using MacAddress = std::array<std::uint8_t, 6>;

// What `--net` says.
struct NetworkChoice {
    NetworkKind kind = NetworkKind::none;
    std::string name; // the device's, or the switch's socket
    std::vector<PortForward> forwards;
    MacAddress mac{};
    unsigned mtu = 1500;        // of `user`
    bool host_loopback = false; // of `user`: the guest may connect to this machine's own addresses
};

// Throws InputError naming the part that is wrong.
NetworkChoice parse_network(std::string_view text);

} // namespace previrt
