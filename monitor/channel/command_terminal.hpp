// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "guest/agent/messages.hpp"

#include <cstdint>

namespace previrt {

// A command gets a terminal of its own if standard input and output here are one.
bool standard_streams_are_terminal();
// Bit N: the command's descriptor N is its terminal.
std::uint32_t find_terminals();
agent::Window read_window();

} // namespace previrt
