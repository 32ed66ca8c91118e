// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace previrt {

// The shared libraries that this program has loaded, and its loader, under the names by which they were
// found.
std::vector<std::string> loaded_libraries();

} // namespace previrt
