// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <string>

namespace previrt {

// `previrt switch`: until there is something in `end`. Then it says what went through it.
void run_switch(const std::string& path, const Descriptor& end);

} // namespace previrt
