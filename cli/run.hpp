// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "cli/command_line.hpp"
#include "monitor/options.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace previrt {

// `previrt run`. `guests_command`: the arguments behind "--".
void add_run(CLI::App& app, Action& action, const std::vector<std::string>& guests_command);

// The options of `run`, for every command that runs a guest.
void add_run_options(CLI::App& command, RunOptions& options);
// Runs the guest in a process of its own, under its name. Prints errors, and returns the exit status.
int run_guest_of_user(RunOptions& options, const std::vector<std::string>& guests_command);
// The kernel of Debian's package. Throws InputError if it is not installed.
std::string default_kernel();

} // namespace previrt
