// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/console/vmm_console.hpp"
#include "monitor/options.hpp"

#include <nlohmann/json_fwd.hpp>

namespace previrt {

// The VMM said that the guest powered off or rebooted.
bool guest_ended_itself(const VmmConsole& vmm);

// Prints the VMM's other reason for ending the guest; false if there is none.
bool say_why_vmm_ended_guest(const VmmConsole& vmm);

// Writes the requested counters, with the members of `more`. A run that lacks them has failed.
RunStatus write_counters(const RunOptions& options, const VmmConsole& vmm, RunStatus status,
                         const nlohmann::json& more);

} // namespace previrt
