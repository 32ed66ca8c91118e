// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "oci/call_program.hpp"
#include "oci/network/route_socket.hpp"

#include <optional>
#include <string>
#include <vector>

namespace previrt::oci {

// The interface of a container's network namespace, as the engine has prepared it: the guest's card has its
// hardware address, its IP addresses and its routes.
struct NamespaceNetwork {
    std::string interface;
    std::string hardware_address; // as text
    std::uint32_t mtu = 1500;
    std::vector<RouteMessage> addresses;
    std::vector<RouteMessage> routes;
};

// Of this process's namespace. nullopt: it has only the loopback interface. Warns of what the guest cannot
// have.
std::optional<NamespaceNetwork> read_namespace_network();
// The interface loses its addresses, so that this machine's kernel answers nothing in the guest's place.
void give_up_addresses(const NamespaceNetwork& network);
// For --net.
std::string choice_of(const NamespaceNetwork& network);
// In the guest: what the namespace has.
void configure_network(CallProgram& program, const NamespaceNetwork& network);

} // namespace previrt::oci
