// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// Throws InputError where we may not make one: only root may.
void check_network_namespace();
// A network of our own, for us and what we start: there is nothing in it but `lo` and a tap device, whose end
// on our side has an address. Throws InputError.
void enter_network_namespace(const std::string& tap, const std::string& address, unsigned mtu);

} // namespace previrt
