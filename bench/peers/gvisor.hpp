// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/measured_place.hpp"

#include <string>

namespace previrt {

// A fixed version of gVisor's runsc, from the cache; Go builds it on first use. Throws InputError.
std::string find_gvisor();

// Runs a statically linked program alone in a sandbox whose files are in memory. The sandbox's own files are
// in `directory`.
Program gvisor(const std::string& runsc, const std::string& program, const Settings& environment,
               const std::string& directory);

// The same with the caller's tree as its root, which stays unchanged; `program` is a path in it.
Program gvisor_tree(const std::string& runsc, const std::string& root, const std::string& program,
                    const Settings& environment, const std::string& directory);

// The same with this machine's root, read-only. `shared`, a directory of it, is written.
Program gvisor_on_root(const std::string& runsc, const std::string& program, const Settings& environment,
                       const std::string& shared, const std::string& directory);

} // namespace previrt
