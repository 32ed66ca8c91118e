// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/run/machine.hpp"
#include "toolchain/run/run.hpp"
#include "toolchain/run/xen_console.hpp"

#include <cstdint>
#include <string>

namespace previrt {

// A PC on which Xen gives its first domain `first_domain` bytes of memory and leaves as much as `others` to
// further ones. `modules` are the first domain's kernel, its arguments behind a space, and its initrd behind
// a comma, in `directory`; the hypervisor is in its file `xen`.
MachineOptions xen_machine(const std::string& directory, std::uint64_t first_domain, std::uint64_t others,
                           const std::string& modules);

// Says what there is to say, writes the counters that were asked for, and gives the status.
RunStatus judge_xen(const RunOptions& options, const XenConsole& console, const MachineEnd& end);

} // namespace previrt
