// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "guest/agent/streams.hpp"

#include <cstdint>

namespace previrt::agent {

// Blocks the signal of a child's end, which a command's run reads.
void hold_child_signal();

// Runs the command that the monitor requests by these streams, whose input has this port. Tells the monitor
// how the command has ended.
void run_command(const Streams& streams, std::uint32_t input_port);

} // namespace previrt::agent
