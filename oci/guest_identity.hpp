// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "oci/call_program.hpp"

#include <nlohmann/json_fwd.hpp>

namespace previrt::oci {

// What a process of a container may do, in the guest: its limits, user and groups, capabilities, directory
// and filter of system calls. The last calls before it becomes its program. `process`: of config.json, or of
// `exec`. `config`: the container's.
void take_identity(CallProgram& program, const nlohmann::json& process, const nlohmann::json& config);

} // namespace previrt::oci
