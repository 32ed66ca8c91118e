// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <string>

namespace previrt {

// An end at the `previrt switch` that listens at this path.
Descriptor connect_to_switch(const std::string& path);

} // namespace previrt
