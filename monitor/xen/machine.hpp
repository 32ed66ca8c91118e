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

struct FirstDomainSize {
    std::uint64_t memory; // bytes
    unsigned processors = 1;
};

// A PC on which Xen makes its first domain, and leaves `others` bytes of memory for further domains. It has
// as many processors as the guest, or as this machine if that has fewer. Throws InputError.
MachineOptions xen_machine(const XenMachineFiles& files, FirstDomainSize first_domain, std::uint64_t others,
                           unsigned of_guest);

// Prints the outcome, writes the requested counters, and returns the status.
RunStatus judge_xen(const RunOptions& options, const XenConsole& console, const MachineEnd& end);

} // namespace previrt
