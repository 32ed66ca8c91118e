// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/network/choice.hpp"
#include "monitor/qemu/machine.hpp"

#include <string>

namespace previrt {

// The network of a guest in a machine that QEMU emulates: a bridge in there joins the guest's card to one
// that QEMU emulates.

// Throws InputError where the guest would get more than was said.
void check_network_of_qemu(const NetworkChoice& choice, const std::string& place);

// Throws InputError for what cannot be joined so. `place`: of --on.
void check_bridged_network(const NetworkChoice& choice, const std::string& place);
// Gives the machine its card. Throws InputError for what this machine does not give.
void add_bridged_card(MachineOptions& machine, const NetworkChoice& choice);
// The guest's, for xl.
std::string xen_vif(const NetworkChoice& choice);
// And for the previrt in there, which finds the tap device joined to the bridge.
std::string net_in_bridge(const NetworkChoice& choice);

} // namespace previrt
