// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/xen/domu_run.hpp"

#include "host/file.hpp"
#include "host/temporary_directory.hpp"
#include "monitor/qemu/bridged_network.hpp"
#include "monitor/qemu/disk.hpp"
#include "monitor/xen/hypervisor.hpp"
#include "monitor/xen/machine.hpp"

namespace previrt {

namespace {

// If CPUID does not call the counter invariant, Xen emulates each RDTSC of a domain, which takes 1300
// instructions. QEMU's counter is invariant, and its CPUID cannot say so.
constexpr const char* native_time_stamps = "tsc_mode = \"native\"\n";

} // namespace

std::vector<std::string> xl_disks(const std::vector<DiskChoice>& disks) {
    std::vector<std::string> texts;
    char letter = 'a';
    for (const DiskChoice& disk : disks) {
        texts.push_back(std::string("format=raw,backendtype=phy,script=block-guest,vdev=xvd") + letter +
                        ",access=" + (disk.is_read_only ? "ro" : "rw") + ",target=/dev/vd" + letter);
        ++letter;
    }
    return texts;
}

MachineEnd run_beside_dom0(const RunOptions& options, const DomainBesideDom0& beside, XenConsole& console) {
    const TemporaryDirectory directory;
    const Dom0 dom0 = prepare_dom0();
    const std::string configuration = xl_configuration(beside.domain) + native_time_stamps;
    std::vector<Dom0File> files = beside.files;
    files.push_back({.name = "guest.cfg", .contents = {configuration.begin(), configuration.end()}});
    const std::vector<std::uint8_t> initrd = make_dom0_initrd(
        dom0, files, {.has_bridge = !beside.domain.vif.empty(), .has_disks = !beside.domain.disks.empty()});
    const XenMachineFiles machine_files = {.xen = directory.path() + "/xen",
                                           .kernel = dom0.kernel,
                                           .command_line = dom0_command_line(),
                                           .initrd = directory.path() + "/initrd"};
    write_file(machine_files.initrd, initrd);
    write_xen_hypervisor(machine_files.xen);
    MachineOptions machine = xen_machine(machine_files, {.memory = dom0_memory(initrd.size())},
                                         beside.domain.memory, beside.domain.processors);
    add_bridged_card(machine, beside.network);
    std::size_t number = 0;
    for (const DiskChoice& disk : beside.disks) {
        add_disk(machine, disk, ++number, QemuDisk::virtio);
    }
    return run_machine(options, machine, &console);
}

} // namespace previrt
