// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <string>

namespace previrt {

// `previrt switch`: runs until `end` is readable, then prints the counts.
void run_switch(const std::string& path, const Descriptor& end);

} // namespace previrt
