// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace previrt {

struct TimedEnd {
    int status; // see wait_for_program
    bool timed_out;
    std::string last_lines;
};

// Runs a program without input. Hands on each line of its output and errors with the time from its start to
// the line's end. Kills it after `at_most`. Throws InputError if it cannot be started.
using TimedLine = std::function<void(std::string_view line, std::chrono::nanoseconds since_start)>;
TimedEnd run_timed(const Program& program, std::chrono::seconds at_most, const TimedLine& line);

} // namespace previrt
