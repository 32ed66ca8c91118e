// SPDX-License-Identifier: BSD-2-Clause
#include "oci/network/namespace_network.hpp"

#include "host/input_error.hpp"
#include "monitor/network/choice.hpp"
#include "oci/log.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <linux/if_addr.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

namespace previrt::oci {

namespace {

// Behind the name there is a zero.
std::string name_of(const RouteMessage& link) {
    const auto found = link.attributes.find(IFLA_IFNAME);
    return found == link.attributes.end() ? std::string() : found->second.substr(0, found->second.find('\0'));
}

std::string hardware_address_of(const RouteMessage& link) {
    const std::string& address = link.attributes.at(IFLA_ADDRESS);
    return text_of({reinterpret_cast<const std::uint8_t*>(address.data()), address.size()});
}

std::vector<RouteMessage> find_interfaces(RouteSocket& socket) {
    constexpr std::uint16_t ethernet = 1; // ARPHRD_ETHER
    std::vector<RouteMessage> found;
    for (const RouteMessage& link : socket.list(RTM_GETLINK, sizeof(ifinfomsg))) {
        const auto& content = link.as<ifinfomsg>();
        if ((content.ifi_flags & IFF_LOOPBACK) != 0) {
            continue;
        }
        const bool is_there = content.ifi_type == ethernet && (content.ifi_flags & IFF_UP) != 0;
        if (is_there && found.empty()) {
            found.push_back(link);
        } else if ((content.ifi_flags & IFF_UP) != 0) {
            log_warning("network namespace: " + name_of(link) +
                        ": the guest does not have it: it has one interface, an Ethernet's");
        }
    }
    return found;
}

bool is_link_local(const RouteMessage& address) {
    return address.as<ifaddrmsg>().ifa_family == AF_INET6 &&
           address.as<ifaddrmsg>().ifa_scope == RT_SCOPE_LINK;
}

// Linux itself makes those of a local network when it gets the address.
bool is_needed(const RouteMessage& route, int interface) {
    const auto& content = route.as<rtmsg>();
    const bool is_usual = content.rtm_type == RTN_UNICAST && content.rtm_protocol != RTPROT_KERNEL &&
                          content.rtm_table != RT_TABLE_LOCAL && (content.rtm_flags & RTM_F_CLONED) == 0 &&
                          content.rtm_protocol != RTPROT_RA;
    if (is_usual && route.attributes.contains(RTA_MULTIPATH)) {
        log_warning("network namespace: a route over several ways: the guest does not have it");
    }
    return is_usual && route.value<int>(RTA_OIF, 0) == interface;
}

RouteMessage only(const RouteMessage& message, std::uint16_t type,
                  std::initializer_list<std::uint16_t> attributes) {
    RouteMessage made{.type = type, .content = message.content, .attributes = {}};
    for (const std::uint16_t number : attributes) {
        const auto found = message.attributes.find(number);
        if (found != message.attributes.end()) {
            made.attributes[number] = found->second;
        }
    }
    return made;
}

} // namespace

std::optional<NamespaceNetwork> read_namespace_network() {
    RouteSocket socket;
    const std::vector<RouteMessage> interfaces = find_interfaces(socket);
    if (interfaces.empty()) {
        return {};
    }
    const RouteMessage& link = interfaces.front();
    const int index = link.as<ifinfomsg>().ifi_index;
    constexpr std::uint32_t usual_mtu = 1500;
    NamespaceNetwork network{.interface = name_of(link),
                             .hardware_address = hardware_address_of(link),
                             .mtu = link.value<std::uint32_t>(IFLA_MTU, usual_mtu),
                             .addresses = {},
                             .routes = {}};
    for (const RouteMessage& address : socket.list(RTM_GETADDR, sizeof(ifaddrmsg))) {
        if (static_cast<int>(address.as<ifaddrmsg>().ifa_index) == index) {
            network.addresses.push_back(
                only(address, RTM_NEWADDR, {IFA_ADDRESS, IFA_LOCAL, IFA_BROADCAST, IFA_FLAGS}));
        }
    }
    for (const RouteMessage& route : socket.list(RTM_GETROUTE, sizeof(rtmsg))) {
        if (is_needed(route, index)) {
            network.routes.push_back(
                only(route, RTM_NEWROUTE,
                     {RTA_DST, RTA_SRC, RTA_GATEWAY, RTA_PRIORITY, RTA_PREFSRC, RTA_TABLE, RTA_OIF}));
        }
    }
    if (std::ranges::all_of(network.addresses, is_link_local)) {
        log_warning("network namespace: " + network.interface +
                    " has no address: the guest has none either. Another container may have it: containers "
                    "of a pod cannot share it so far");
    }
    return network;
}

void give_up_addresses(const NamespaceNetwork& network) {
    RouteSocket socket;
    for (RouteMessage address : network.addresses) {
        address.type = RTM_DELADDR;
        address.attributes.erase(IFA_FLAGS);
        socket.change(address, network.interface + ": an address cannot be taken from it");
    }
    // Nor shall it make one.
    std::ofstream("/proc/sys/net/ipv6/conf/" + network.interface + "/disable_ipv6") << '1';
}

std::string choice_of(const NamespaceNetwork& network) {
    return "interface=" + network.interface + ",mac=" + network.hardware_address;
}

void configure_network(CallProgram& program, const NamespaceNetwork& network) {
    constexpr std::uint16_t add = NLM_F_CREATE | NLM_F_REPLACE;
    const std::string purpose = "the interface " + network.interface + " of the guest";
    ifreq request{};
    std::string("eth0").copy(static_cast<char*>(request.ifr_name), IFNAMSIZ);
    const CallArgument name = program.data({reinterpret_cast<const char*>(&request), sizeof request});
    const CallArgument index = loaded(name, offsetof(ifreq, ifr_ifindex));
    const std::uint64_t any = program.call(purpose, SYS_socket, {number(AF_INET), number(SOCK_DGRAM)});
    program.call(purpose, SYS_ioctl, {result_of(any), number(SIOCGIFINDEX), name});
    const std::uint64_t socket =
        program.call(purpose, SYS_socket, {number(AF_NETLINK), number(SOCK_RAW), number(NETLINK_ROUTE)});
    const auto send = [&](const RouteMessage& message, std::uint16_t flags, std::size_t place_of_index,
                          const std::string& what) {
        const std::string bytes = message.encode(flags);
        const CallArgument data = program.data(bytes);
        CallArgument place = data;
        place.value += place_of_index;
        program.call(what, agent::store_call, {place, index, number(sizeof(std::uint32_t))});
        program.call(what, agent::route_call, {result_of(socket), data, number(bytes.size())});
    };
    RouteMessage link{.type = RTM_NEWLINK, .content = std::string(sizeof(ifinfomsg), '\0'), .attributes = {}};
    link.as<ifinfomsg>().ifi_flags = IFF_UP;
    link.as<ifinfomsg>().ifi_change = IFF_UP;
    link.set(IFLA_MTU, network.mtu);
    link.attributes[IFLA_IFNAME] = network.interface + '\0';
    send(link, 0, content_place + offsetof(ifinfomsg, ifi_index), purpose);
    for (RouteMessage address : network.addresses) {
        if (is_link_local(address)) {
            continue; // the guest's kernel makes the same
        }
        address.set(IFA_FLAGS, std::uint32_t{IFA_F_PERMANENT | IFA_F_NODAD});
        send(address, add, content_place + offsetof(ifaddrmsg, ifa_index), purpose + ": an address");
    }
    for (const RouteMessage& route : network.routes) {
        send(route, add, route.place_of(RTA_OIF), purpose + ": a route");
    }
    for (const std::uint64_t descriptor : {any, socket}) {
        program.call(purpose, SYS_close, {result_of(descriptor)});
    }
}

} // namespace previrt::oci
