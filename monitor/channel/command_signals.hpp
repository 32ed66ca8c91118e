// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <array>
#include <csignal>
#include <span>

namespace previrt {

// The signals of a run with a command: they go to the command.
inline constexpr std::array command_signals = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                                               SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};
// Of a container's: all that a process can take, but SIGCHLD, those that Linux sends for a fault, and those
// that the monitor itself uses.
std::span<const int> container_signals();

// From now on this thread and the threads that it starts block them; they arrive in the descriptor, which is
// nonblocking. SIGPIPE is ignored.
Descriptor hold_signals(std::span<const int> signals);

} // namespace previrt
