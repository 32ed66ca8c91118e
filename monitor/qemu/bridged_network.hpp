// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/network/choice.hpp"
#include "monitor/qemu/machine.hpp"

#include <string>

namespace previrt {

// The network of a guest in a machine that QEMU emulates: a bridge in that machine joins the guest's card to
// QEMU's card.

// Throws InputError if the guest would get more access than the user asked for.
void check_network_of_qemu(const NetworkChoice& choice, const std::string& place);

// Throws InputError for a network that cannot be bridged. `place`: of --on.
void check_bridged_network(const NetworkChoice& choice, const std::string& place);
// Gives the machine its card. Throws InputError if this machine refuses something.
void add_bridged_card(MachineOptions& machine, const NetworkChoice& choice);
// The guest's vif, for xl.
std::string xen_vif(const NetworkChoice& choice);
// `--net` of the previrt in the machine, which finds the tap device on the bridge.
std::string net_in_bridge(const NetworkChoice& choice);

} // namespace previrt
