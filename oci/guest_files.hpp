// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "oci/call_program.hpp"

#include <nlohmann/json_fwd.hpp>

namespace previrt::oci {

// The container's root in the guest, and what the guest's kernel itself mounts there: /proc, /sys, /dev and
// every tmpfs. Folders of this machine are in the root already. `config`: as the engine wrote it.
void enter_container_root(CallProgram& program, const nlohmann::json& config);

} // namespace previrt::oci
