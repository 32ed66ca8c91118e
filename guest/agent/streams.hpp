// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt::agent {

// Sockets to the monitor, nonblocking. -1: the monitor refuses this one.
struct Streams {
    int control = -1;
    int output = -1;
    int errors = -1;
};

// `control` is -1 if there is no way to the monitor.
Streams connect_streams();
// The socket of the command's input, which need not be connected yet. The monitor reads its own input from
// then on.
int begin_input();

} // namespace previrt::agent
