// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/guest/isolation.hpp"

#include "host/input_error.hpp"

#include <iostream>

namespace previrt {

namespace {

std::string list(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "" : ", ") + name;
    }
    return text;
}

} // namespace

void judge_isolation(const RunOptions& options, const MissingLayers& missing) {
    if (missing.names.empty()) {
        return;
    }
    const std::string text = "layers between the guest and this machine are missing: " + list(missing.names) +
                             (missing.reason.empty() ? "" : " (" + missing.reason + ")") +
                             "; to have them, " + missing.remedy;
    if (options.require_isolation) {
        throw InputError("--require-isolation: " + text);
    }
    std::cerr << "previrt: warning: " << text << '\n';
}

void say_that_programs_reach_kernel(const RunOptions& options, const char* remedy) {
    if (options.watch_console && !options.quiet) {
        std::cerr << "previrt: warning: the guest's programs can reach their kernel here; " << remedy
                  << " keeps them from it (--quiet: without this line)\n";
    }
}

} // namespace previrt
