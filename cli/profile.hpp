// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "cli/command_line.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace previrt {

// `previrt profile`. `guests_command`: the arguments behind "--".
void add_profile(CLI::App& app, Action& action, const std::vector<std::string>& guests_command);
// `previrt top`.
void add_top(CLI::App& app, Action& action);

} // namespace previrt
