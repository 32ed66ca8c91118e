// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <string>
#include <sys/un.h>

namespace previrt {

// Sockets that carry a frame in each message, in order: a sender waits, or is told to, while there is no
// room.

// Throws InputError where the path is too long for one.
sockaddr_un make_socket_address(const std::string& path);
Descriptor make_packet_socket(); // nonblocking

struct PacketPair {
    Descriptor ours;
    Descriptor theirs;
};
PacketPair make_packet_pair(); // they block

// As much as the user may have, up to what a network has on its way.
void widen_send_buffer(const Descriptor& socket);

} // namespace previrt
