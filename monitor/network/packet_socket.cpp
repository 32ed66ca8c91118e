// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/packet_socket.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/socket.h>
#include <system_error>

namespace previrt {

sockaddr_un make_socket_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path) {
        throw InputError("'" + path + "': a socket's path has 1 to " +
                         std::to_string(sizeof address.sun_path - 1) + " characters");
    }
    std::ranges::copy(path, static_cast<char*>(address.sun_path));
    return address;
}

Descriptor make_packet_socket() {
    Descriptor made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (made.number() < 0) {
        throw InputError("socket: " + std::generic_category().message(errno));
    }
    return made;
}

PacketPair make_packet_pair() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        throw InputError("socketpair: " + std::generic_category().message(errno));
    }
    return {.ours = Descriptor(ends[0]), .theirs = Descriptor(ends[1])};
}

void widen_send_buffer(const Descriptor& socket) {
    constexpr int bytes = 1 << 20;
    if (setsockopt(socket.number(), SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0) {
        setsockopt(socket.number(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    }
}

} // namespace previrt
