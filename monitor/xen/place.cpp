// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/xen/place.hpp"

#include "host/file.hpp"
#include "host/temporary_directory.hpp"
#include "monitor/qemu/bridged_network.hpp"
#include "monitor/qemu/qemu.hpp"
#include "monitor/xen/domu_run.hpp"
#include "monitor/xen/hypervisor.hpp"
#include "monitor/xen/machine.hpp"
#include "toolchain/pack/pack.hpp"
#include "toolchain/pack/vmm_image.hpp"

#include <filesystem>

namespace previrt {

namespace {

PackedGuest pack(const RunOptions& options, const std::string& directory) {
    PackedGuest packed = pack_for_xen({.kernel = options.kernel,
                                       .initrd = options.initrd,
                                       .append = options.append,
                                       .memory = options.memory,
                                       .processors = options.cpus,
                                       .output = directory,
                                       .vmm = {},
                                       .print_counters = !options.stats.empty(),
                                       .count_cycles = options.count_cycles,
                                       .strict = options.strict});
    options.announce(packed.kernel_sha256);
    return packed;
}

} // namespace

DomainBesideDom0 pack_beside_dom0(const RunOptions& options, const std::string& vif) {
    const TemporaryDirectory directory;
    const PackedGuest packed = pack(options, directory.path());
    return {.domain = {.name = "guest",
                       .kernel = "/guest/previrt-xen",
                       .module = "/guest/guest",
                       .command_line = {},
                       .memory = packed.domain_memory,
                       .processors = options.cpus,
                       .at_end = kept_at_end,
                       .vif = vif,
                       .disks = {}},
            .files = {{.name = "previrt-xen", .contents = read_file(packed.vmm)},
                      {.name = "guest", .contents = read_file(packed.package)}},
            .network = {},
            .disks = {}};
}

RunStatus run_xen(const RunOptions& options) {
    const TemporaryDirectory directory;
    const PackedGuest packed = pack(options, directory.path());
    const std::string xen = directory.path() + "/xen";
    write_xen_hypervisor(xen);
    XenConsole console(FirstDomain::guest, options.verbose);
    const MachineOptions machine =
        xen_machine({.xen = xen, .kernel = packed.vmm, .command_line = {}, .initrd = packed.package},
                    {.memory = packed.domain_memory, .processors = options.cpus}, 0, options.cpus);
    const MachineEnd end = run_machine(options, machine, &console);
    return judge_xen(options, console, end);
}

RunStatus run_xen_domu(const RunOptions& options) {
    const NetworkChoice network = parse_network(options.net);
    XenConsole console(FirstDomain::dom0, options.verbose);
    DomainBesideDom0 beside = pack_beside_dom0(options, xen_vif(network));
    beside.network = network;
    beside.disks = parse_disks(options.disks);
    beside.domain.disks = xl_disks(beside.disks);
    const MachineEnd end = run_beside_dom0(options, beside, console);
    return judge_xen(options, console, end);
}

PlaceFinding probe_xen() {
    const std::string qemu = read_qemu_version();
    vmm_image_path(Hypervisor::xen);
    return {.found = qemu + "; " + locate_xen_hypervisor(),
            .isolation = isolation_by_qemu() + "; Xen keeps the guest's kernel from its programs"};
}

PlaceFinding probe_xen_domu() {
    PlaceFinding finding = probe_xen();
    finding.found += "; " + locate_dom0();
    return finding;
}

} // namespace previrt
