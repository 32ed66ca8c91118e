// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <string>

namespace previrt {

// All frames of an interface of this machine, or of a container's network namespace, with headers
// (PacketEnd). Linux gets the frames too: the interface should have no address. Throws InputError.
Descriptor open_interface(const std::string& name);

} // namespace previrt
