// SPDX-License-Identifier: BSD-2-Clause
// A listening socket whose name Linux chooses, and connections to it.
#pragma once

#include "host/program.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace previrt {

inline Descriptor make_listener() {
    Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    EXPECT_EQ(bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(sa_family_t)), 0);
    EXPECT_EQ(listen(listener.number(), SOMAXCONN), 0);
    return listener;
}

inline Descriptor connect_to(const Descriptor& listener) {
    sockaddr_un address{};
    socklen_t bytes = sizeof address;
    EXPECT_EQ(getsockname(listener.number(), reinterpret_cast<sockaddr*>(&address), &bytes), 0);
    Descriptor client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    EXPECT_EQ(connect(client.number(), reinterpret_cast<const sockaddr*>(&address), bytes), 0);
    return client;
}

} // namespace previrt
