// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/options.hpp"

#include <string>
#include <vector>

namespace previrt {

// Of namespaces and Landlock.
constexpr const char* to_have_namespaces =
    "let this user make user namespaces (sysctl user.max_user_namespaces, "
    "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns; in a container, its "
    "runtime's seccomp profile), and have Landlock (Linux 5.13, and its name in the parameter lsm=)";

// The layers that should be between a guest and this machine, and are not.
struct MissingLayers {
    std::vector<std::string> names;
    std::string reason;                      // what the machine said
    const char* remedy = to_have_namespaces; // "to have them, ..."
};

// Says so in one line, with the remedy, or throws it as an InputError where the options want all layers.
void judge_isolation(const RunOptions& options, const MissingLayers& missing);

// Says in one line that the guest's programs can reach their kernel, and how to keep them from it.
void say_that_programs_reach_kernel(const RunOptions& options, const char* remedy);

} // namespace previrt
