// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/options.hpp"

#include <string>
#include <vector>

namespace previrt {

// For a shell: `program run --on kvm` with these options, on a host without a cache of library paths for the
// loader.
std::string nested_command(const std::string& program, const std::vector<std::string>& libraries,
                           const RunOptions& options);

} // namespace previrt
