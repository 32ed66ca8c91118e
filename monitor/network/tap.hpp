// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <string>

namespace previrt {

// The end of a tap device of this machine, with headers (PacketEnd). If there is none, root creates one that
// lasts as long as the end.
Descriptor open_tap(const std::string& name);

} // namespace previrt
