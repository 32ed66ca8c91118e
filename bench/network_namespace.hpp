// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// A network of our own, for us and what we start: there is nothing in it but `lo` and a tap device, whose end
// on our side has an address. Throws InputError; takes root.
void enter_network_namespace(const std::string& tap, const std::string& address);

} // namespace previrt
