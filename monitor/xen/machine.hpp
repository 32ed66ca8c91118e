// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/options.hpp"
#include "monitor/qemu/machine.hpp"
#include "monitor/xen/console.hpp"

#include <cstdint>
#include <string>

namespace previrt {

// The files of a machine under Xen, and the command line of the first domain's kernel.
struct XenMachineFiles {
    std::string xen;
    std::string kernel;
    std::string command_line;
    std::string initrd;
};

// A PC on which Xen gives its first domain `first_domain` bytes of memory and leaves `others` for further
// domains. Throws InputError.
MachineOptions xen_machine(const XenMachineFiles& files, std::uint64_t first_domain, std::uint64_t others);

// Prints the outcome, writes the requested counters, and returns the status.
RunStatus judge_xen(const RunOptions& options, const XenConsole& console, const MachineEnd& end);

} // namespace previrt
