// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/options.hpp"

#include <string>
#include <vector>

namespace previrt {

// The remedy for missing namespaces and Landlock.
constexpr const char* to_have_namespaces =
    "let this user make user namespaces (sysctl user.max_user_namespaces, "
    "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns; in a container, its "
    "runtime's seccomp profile), and have Landlock (Linux 5.13, and its name in the parameter lsm=)";

// The layers that should be between a guest and this machine, and are missing.
struct MissingLayers {
    std::vector<std::string> names;
    std::string reason;                      // this machine's error message
    const char* remedy = to_have_namespaces; // "to have them, ..."
};

// Prints one line of warning with the remedy. If the options require all layers, throws it as an InputError.
void judge_isolation(const RunOptions& options, const MissingLayers& missing);

// Says in one line that the guest's programs can reach their kernel, and gives the remedy.
void say_that_programs_reach_kernel(const RunOptions& options, const char* remedy);

} // namespace previrt
