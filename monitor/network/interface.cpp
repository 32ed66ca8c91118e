// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/interface.hpp"

#include "host/input_error.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <system_error>

namespace previrt {

namespace {

void require(bool done, const std::string& name, const char* step) {
    if (!done) {
        throw InputError("--net interface=" + name + ": " + step + ": " +
                         std::generic_category().message(errno));
    }
}

void set(const Descriptor& socket, const std::string& name, int option, const char* step) {
    constexpr int on = 1;
    require(setsockopt(socket.number(), SOL_PACKET, option, &on, sizeof on) == 0, name, step);
}

} // namespace

Descriptor open_interface(const std::string& name) {
    const unsigned index = if_nametoindex(name.c_str());
    require(index != 0, name, "there is no such interface");
    // Of no protocol: it gets nothing before it is bound to the interface.
    Descriptor end(socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    require(end.number() >= 0, name, "a socket for its frames (which takes CAP_NET_RAW)");
    set(end, name, PACKET_VNET_HDR, "PACKET_VNET_HDR");
    set(end, name, PACKET_IGNORE_OUTGOING, "PACKET_IGNORE_OUTGOING");
    // For a burst of packets while the guest does something else.
    constexpr int room = 4 << 20;
    if (setsockopt(end.number(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0) {
        setsockopt(end.number(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    }
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(index);
    require(bind(end.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, name,
            "bind");
    return end;
}

} // namespace previrt
