// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/channel/command_end.hpp"
#include "monitor/running/registry.hpp"

#include <string>
#include <vector>

namespace previrt {

struct GuestProcess;

struct SessionOptions {
    std::string name; // of the guest
    std::vector<std::string> command;
    std::vector<std::string> environment;  // in addition: NAME=VALUE, or NAME
    const GuestProcess* process = nullptr; // instead of both: the command is a container's
    // Of the command; -1: none.
    int input = 0;
    int output = 1;
    int errors = 2;
};

// Runs a command in a running guest, with this process's signals and, if it has one, its terminal. Gives the
// command's exit status, or one of previrt's as for `run`. Throws InputError.
int run_in_guest(const SessionOptions& options);
// The same, by a connection to the monitor of the guest that the options name.
int run_by_monitor(const SessionOptions& options, Descriptor monitor);

} // namespace previrt
