// SPDX-License-Identifier: BSD-2-Clause
#include "bench/peers/xenolinux.hpp"

#include "host/temporary_directory.hpp"
#include "monitor/xen/hypervisor.hpp"
#include "monitor/xen/machine.hpp"

#include <iostream>

namespace previrt {

RunStatus run_xenolinux(const RunOptions& options) {
    const TemporaryDirectory directory;
    const std::string xen = directory.path() + "/xen";
    write_xen_hypervisor(xen);
    XenConsole console(FirstDomain::guest, options.verbose);
    const MachineOptions machine = xen_machine({.xen = xen,
                                                .kernel = options.kernel,
                                                .command_line = "console=hvc0 panic=-1 " + options.append,
                                                .initrd = options.initrd},
                                               {.memory = options.memory}, 0, 1);
    const MachineEnd end = run_machine(options, machine, &console);
    const RunStatus status =
        judge_guest(options, end).value_or(end.said_goodbye ? guest_ended : guest_failed);
    if (status != guest_ended) {
        console.log().print_end(std::cerr);
    }
    return status;
}

} // namespace previrt
