// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/measured_place.hpp"

#include <string>

namespace previrt {

// gVisor's runsc, of one version, from the cache; Go builds it there first. Throws InputError.
std::string find_gvisor();

// Runs a program, linked statically, alone in a sandbox; what it writes to is memory. What it takes, and
// leaves behind, is in `directory`.
Program gvisor(const std::string& runsc, const std::string& program, const Settings& environment,
               const std::string& directory);

// The same with a tree of the caller's as its root, which stays as it is; `program` is a path in it.
Program gvisor_tree(const std::string& runsc, const std::string& root, const std::string& program,
                    const Settings& environment, const std::string& directory);

} // namespace previrt
