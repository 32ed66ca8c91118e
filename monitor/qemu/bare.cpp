// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/qemu/bare.hpp"

#include "host/digest.hpp"
#include "host/input_error.hpp"
#include "monitor/channel/agent_initrd.hpp"
#include "monitor/folder/choice.hpp"
#include "monitor/folder/folder_server.hpp"
#include "monitor/network/choice.hpp"
#include "monitor/network/tap.hpp"
#include "monitor/qemu/disk.hpp"
#include "monitor/qemu/machine.hpp"
#include "monitor/qemu/qemu.hpp"
#include "toolchain/pack/command_line.hpp"

#include <iostream>
#include <vector>

namespace previrt {

namespace {

// Such as an address. QEMU gives every card the same one, so that comparable runs are alike.
std::string options_behind_name(const std::string& net) {
    const std::size_t comma = net.find(',');
    return comma == std::string::npos ? "" : net.substr(comma);
}

// QEMU's own device. The server maps the machine's memory, which therefore is a file.
void add_folder(MachineOptions& machine, FolderServer& server, const std::string& tag, std::size_t number) {
    const std::string name = "folder" + std::to_string(number);
    const int connection = machine.hand_on(server.take_connection());
    if (number == 0) {
        for (const std::string& word :
             {std::string("-object"),
              "memory-backend-memfd,id=ram,share=on,size=" + std::to_string(machine.memory >> 20U) + "M",
              std::string("-machine"), std::string("memory-backend=ram")}) {
            machine.qemu.push_back(word);
        }
    }
    for (const std::string& word :
         {std::string("-chardev"), "socket,id=" + name + ",fd=" + std::to_string(connection),
          std::string("-device"),
          "vhost-user-fs-pci,queue-size=1024,chardev=" + name + ",tag=" + double_commas(tag)}) {
        machine.qemu.push_back(word);
    }
}

// With --root, the agent's archive is the whole initrd.
void add_initrd(MachineOptions& machine, const GuestPackageOptions& package) {
    if (!package.before_initrd.empty()) {
        machine.qemu.insert(machine.qemu.end(), {"-initrd", machine.hand_on_bytes(package.before_initrd)});
    } else if (!package.initrd.empty()) {
        machine.qemu.insert(machine.qemu.end(), {"-initrd", machine.hand_on_file(package.initrd)});
    }
}

MachineOptions machine_for(const RunOptions& options, std::vector<FolderServer>& servers) {
    const GuestPackageOptions package = package_options(options);
    MachineOptions machine;
    std::size_t disks = 0;
    machine.memory = options.memory;
    machine.qemu = {"-kernel", machine.hand_on_file(options.kernel), "-append",
                    guest_command_line(package.append)};
    const auto add = [&](std::initializer_list<std::string> more) {
        machine.qemu.insert(machine.qemu.end(), more);
    };
    add_initrd(machine, package);
    if (options.net.starts_with("user")) {
        add({"-nic", "user,model=e1000"});
    } else if (options.net.starts_with("tap=")) {
        const int tap = machine.hand_on(open_tap(parse_network(options.net).name));
        add({"-nic", "tap,fd=" + std::to_string(tap) + options_behind_name(options.net) + ",model=e1000"});
    }
    for (const DiskChoice& choice : parse_disks(options.disks)) {
        add_disk(machine, choice, ++disks, QemuDisk::nvme);
    }
    for (const FolderChoice& choice : parse_folders(options)) {
        servers.emplace_back(choice);
        add_folder(machine, servers.back(), choice.tag, servers.size() - 1);
    }
    return machine;
}

} // namespace

RunStatus run_bare(const RunOptions& options) {
    if (options.strict) {
        throw InputError("--strict: on bare metal no VMM sees the accesses of the guest; leave it out");
    }
    options.announce(sha256_of_file(options.kernel));
    std::vector<FolderServer> servers;
    const MachineEnd end = run_machine(options, machine_for(options, servers), nullptr);
    if (const std::optional<RunStatus> status = judge_guest(options, end)) {
        return *status;
    }
    const std::string& reason = end.shutdown_reason;
    if (end.halted || reason == "guest-shutdown" || (reason == "guest-reset" && end.said_goodbye)) {
        return guest_ended;
    }
    if (reason == "guest-reset") {
        std::cerr << "previrt: the machine was reset without a message of its kernel: a triple fault?\n";
        return guest_failed;
    }
    if (reason.empty()) {
        throw InputError("QEMU ended with status " + std::to_string(end.status) + " and not by the guest");
    }
    std::cerr << "previrt: the machine was stopped: " << reason << '\n';
    return guest_failed;
}

PlaceFinding probe_bare() {
    return {.found = read_qemu_version(),
            .isolation = isolation_by_qemu() + "; the machine keeps its kernel from its programs"};
}

} // namespace previrt
