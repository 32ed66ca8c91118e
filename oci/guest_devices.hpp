// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "oci/call_program.hpp"

#include <nlohmann/json_fwd.hpp>

namespace previrt::oci {

// The files of /dev in the guest: those that every container has, and those of linux.devices, which are
// devices of the guest's kernel. None if the container has no /dev of its own.
void make_devices(CallProgram& program, const nlohmann::json& config);

} // namespace previrt::oci
