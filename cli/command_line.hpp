// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <CLI/App.hpp>
#include <functional>

namespace previrt {

// Exit statuses beside 0 and those of a run.
constexpr int answer_is_no = 1;
constexpr int bad_input = 2;

// The work of the given command; it returns the exit status.
using Action = std::function<int()>;

// Parses the command line and does the command's work. Prints errors on standard error.
int run_command_line(CLI::App& app, int argc, char** argv, const Action& action);

} // namespace previrt
