// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/switch/end.hpp"

#include "host/input_error.hpp"
#include "monitor/network/packet_socket.hpp"

#include <cerrno>
#include <sys/socket.h>
#include <system_error>

namespace previrt {

namespace {

std::string why_not_connected(const std::string& path, int error) {
    switch (error) {
    case ENOENT:
    case ECONNREFUSED:
        return "no switch listens there: start `previrt switch " + path + "` first";
    case EPROTOTYPE:
        return "a socket, but not that of a `previrt switch`";
    case EAGAIN:
        return "its switch has more clients waiting than it takes";
    default:
        return std::generic_category().message(error);
    }
}

} // namespace

Descriptor connect_to_switch(const std::string& path) {
    const sockaddr_un address = make_socket_address(path);
    Descriptor end = make_packet_socket();
    if (connect(end.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        throw InputError("--net switch=" + path + ": " + why_not_connected(path, errno));
    }
    widen_send_buffer(end);
    return end;
}

} // namespace previrt
