// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/net/network_choice.hpp"

#include <string>
#include <vector>

namespace previrt {

// The network of a domain beside dom0: a bridge in dom0 joins the guest's card to one that QEMU emulates.

// Throws InputError for what dom0 cannot join a guest to.
void check_xen_network(const NetworkChoice& choice);
// The machine's card, for QEMU.
std::vector<std::string> xen_network_arguments(const NetworkChoice& choice);
// The guest's, for xl.
std::string xen_vif(const NetworkChoice& choice);

} // namespace previrt
