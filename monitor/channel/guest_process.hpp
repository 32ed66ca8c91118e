// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "guest/agent/messages.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace previrt {

// A command as a container has it: nothing of it comes from this machine's user.
struct GuestProcess {
    std::string directory = "/";
    std::vector<std::string> arguments;
    std::vector<std::string> environment; // NAME=VALUE
    bool has_terminal = false;            // standard input, output and error are one
    std::uint32_t namespaces = 0;         // as agent::Start's
    std::vector<agent::SystemCall> calls; // that the process makes first
    std::string data;                     // of the calls
    std::vector<std::string> purposes;    // of each call, for the message if it fails
};

} // namespace previrt
