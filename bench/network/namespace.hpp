// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// Throws InputError if this user may not make one: only root may.
void check_network_namespace();
// Enters a network namespace of its own, with this program and its children. It has only `lo` and a tap
// device, whose host side gets this address. Throws InputError.
void enter_network_namespace(const std::string& tap, const std::string& address, unsigned mtu);

} // namespace previrt
