// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/console/vmm_console.hpp"
#include "monitor/options.hpp"

#include <nlohmann/json_fwd.hpp>

namespace previrt {

// The VMM said that the guest powered off or rebooted.
bool guest_ended_itself(const VmmConsole& vmm);

// Prints why else the VMM ended the guest; false if it said nothing of that kind.
bool say_why_vmm_ended_guest(const VmmConsole& vmm);

// Writes the counters that were asked for, and `more` members. A run without them has failed.
RunStatus write_counters(const RunOptions& options, const VmmConsole& vmm, RunStatus status,
                         const nlohmann::json& more);

} // namespace previrt
