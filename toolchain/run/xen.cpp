// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/xen.hpp"

#include "toolchain/image/file.hpp"
#include "toolchain/pack/pack.hpp"
#include "toolchain/pack/xen_domain.hpp"
#include "toolchain/run/bridged_network.hpp"
#include "toolchain/run/dom0.hpp"
#include "toolchain/run/qemu.hpp"
#include "toolchain/run/temporary_directory.hpp"
#include "toolchain/run/xen_hypervisor.hpp"
#include "toolchain/run/xen_machine.hpp"

#include <filesystem>

namespace previrt {

namespace {

PackedGuest pack(const RunOptions& options, const std::string& directory) {
    PackedGuest packed = pack_for_xen({.kernel = options.kernel,
                                       .initrd = options.initrd,
                                       .append = options.append,
                                       .memory = options.memory,
                                       .output = directory,
                                       .vmm = {},
                                       .print_counters = !options.stats.empty()});
    options.announce(packed.kernel_sha256);
    return packed;
}

} // namespace

RunStatus run_xen(const RunOptions& options) {
    const TemporaryDirectory directory;
    const PackedGuest packed = pack(options, directory.path());
    write_xen_hypervisor(directory.path() + "/xen");
    XenConsole console(FirstDomain::guest, options.verbose);
    const MachineEnd end = run_machine(
        options, xen_machine(directory.path(), packed.domain_memory, 0, "previrt-xen,guest"), &console);
    return judge_xen(options, console, end);
}

RunStatus run_xen_domu(const RunOptions& options) {
    const NetworkChoice network = parse_network(options.net);
    const TemporaryDirectory directory;
    const PackedGuest packed = pack(options, directory.path());
    write_xen_hypervisor(directory.path() + "/xen");
    const Dom0 dom0 = prepare_dom0();
    const std::string configuration = xl_configuration({.name = "guest",
                                                        .vmm = "/guest/previrt-xen",
                                                        .package = "/guest/guest",
                                                        .memory = packed.domain_memory,
                                                        .at_end = "preserve",
                                                        .vif = xen_vif(network)});
    const std::vector<std::uint8_t> initrd =
        make_dom0_initrd(dom0,
                         {{"previrt-xen", read_file(packed.vmm)},
                          {"guest", read_file(packed.package)},
                          {"guest.cfg", {configuration.begin(), configuration.end()}}},
                         network.kind == NetworkKind::none ? Dom0Network::none : Dom0Network::bridge);
    write_file(directory.path() + "/initrd", initrd);
    std::filesystem::create_symlink(dom0.kernel, directory.path() + "/vmlinux");
    XenConsole console(FirstDomain::dom0, options.verbose);
    MachineOptions machine = xen_machine(directory.path(), dom0_memory(initrd.size()), packed.domain_memory,
                                         "vmlinux " + dom0_command_line() + ",initrd");
    const std::vector<std::string> card = bridged_network_arguments(network);
    machine.qemu.insert(machine.qemu.end(), card.begin(), card.end());
    const MachineEnd end = run_machine(options, machine, &console);
    return judge_xen(options, console, end);
}

PlaceFinding probe_xen() {
    const std::string qemu = read_qemu_version();
    return {.found = qemu + "; " + locate_xen_hypervisor(),
            .isolation = "QEMU keeps the host from Xen, Xen the guest's kernel from its programs"};
}

PlaceFinding probe_xen_domu() {
    PlaceFinding finding = probe_xen();
    finding.found += "; " + locate_dom0();
    return finding;
}

} // namespace previrt
