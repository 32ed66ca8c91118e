// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace previrt {

// The shared libraries that a program loads at its start, and its loader, as absolute names. Throws
// InputError.
std::vector<std::string> shared_libraries_of(const std::string& program);

} // namespace previrt
