// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "guest/agent/messages.hpp"

#include <cstdint>

namespace previrt {

struct GuestProcess;

// A command of the user's gets a terminal of its own if standard input and output here are one.
bool standard_streams_are_terminal();
// A container's says itself whether it has one.
bool has_terminal(const GuestProcess* process);
// Bit N: the command's descriptor N is its terminal.
std::uint32_t find_terminals(const GuestProcess* process);
agent::Window read_window();

} // namespace previrt
