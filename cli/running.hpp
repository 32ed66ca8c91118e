// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "cli/command_line.hpp"

namespace CLI {
class App;
}

namespace previrt {

// The commands for guests that run already: exec, list, stop, cp, console.
void add_running_guests(CLI::App& app, Action& action);

} // namespace previrt
