// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// Each make_*_seeds.cpp has its own; make_seeds.cpp calls it.
void write_seeds(const std::string& directory);

} // namespace previrt
