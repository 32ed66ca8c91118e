// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::agent {

// Sockets to the monitor, nonblocking. -1: the monitor refuses this one.
struct Streams {
    int control = -1;
    int output = -1;
    int errors = -1;
    int sessions = -1; // requests for further commands; only a guest's own command has this one
};

// Of a command, whose ports begin with this one. `control` is -1 if there is no way to the monitor.
Streams connect_streams(std::uint32_t first_port);
int connect_sessions();
// The socket of the command's input, which need not be connected yet. The monitor reads its own input from
// then on.
int begin_input(std::uint32_t port);

} // namespace previrt::agent
