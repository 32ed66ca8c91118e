// SPDX-License-Identifier: BSD-2-Clause
#include "bench/xenolinux.hpp"

#include "toolchain/run/temporary_directory.hpp"
#include "toolchain/run/xen_hypervisor.hpp"
#include "toolchain/run/xen_machine.hpp"

#include <filesystem>
#include <iostream>

namespace previrt {

RunStatus run_xenolinux(const RunOptions& options) {
    const TemporaryDirectory directory;
    write_xen_hypervisor(directory.path() + "/xen");
    std::filesystem::create_symlink(options.kernel, directory.path() + "/vmlinux");
    std::filesystem::create_symlink(options.initrd, directory.path() + "/initrd");
    XenConsole console(FirstDomain::guest, options.verbose);
    const std::string command_line = "console=hvc0 panic=-1 " + options.append;
    const MachineEnd end = run_machine(
        options, xen_machine(directory.path(), options.memory, 0, "vmlinux " + command_line + ",initrd"),
        &console);
    const RunStatus status =
        judge_guest(options, end).value_or(end.said_goodbye ? guest_ended : guest_failed);
    if (status != guest_ended) {
        console.log().print_end(std::cerr);
    }
    return status;
}

} // namespace previrt
