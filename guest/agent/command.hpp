// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "guest/agent/messages.hpp"

#include <cstddef>

namespace previrt::agent {

// A start message, whose texts are behind its structure.
struct Request {
    Start start;
    SystemCall* calls;
    char* data; // of the calls
    const char* directory;
    char** arguments; // ended by null, as the environment
    char** environment;
};

// A command that runs, and the agent's ends of its descriptors. -1: there is none.
struct Command {
    int process = 0;
    int error = 0; // of Linux: it was not started
    int input = -1;
    int output = -1;
    int errors = -1;
    int terminal = -1; // its master, for changes of its window
    int terminal_input = -1;
    int terminal_output = -1;
};

Command start_command(const Request& request);

} // namespace previrt::agent
