// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <string>
#include <sys/un.h>

namespace previrt {

// Sockets that carry a frame in each message, in order. While there is no room, a sender waits, or gets
// EAGAIN.

// Throws InputError if the path is too long.
sockaddr_un make_socket_address(const std::string& path);
Descriptor make_packet_socket(); // nonblocking

struct PacketPair {
    Descriptor ours;
    Descriptor theirs;
};
PacketPair make_packet_pair(); // blocking

// To the size that the user may have, at most a network's queue.
void widen_send_buffer(const Descriptor& socket);

} // namespace previrt
