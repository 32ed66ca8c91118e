// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/qemu/bare.hpp"

#include "host/digest.hpp"
#include "host/input_error.hpp"
#include "monitor/channel/agent_initrd.hpp"
#include "monitor/disk/disk_file.hpp"
#include "monitor/disk/image.hpp"
#include "monitor/disk/storage_daemon.hpp"
#include "monitor/folder/choice.hpp"
#include "monitor/folder/folder_server.hpp"
#include "monitor/network/choice.hpp"
#include "monitor/network/tap.hpp"
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

std::string double_commas(const std::string& text) {
    std::string doubled;
    for (const char character : text) {
        doubled += character == ',' ? std::string(",,") : std::string(1, character);
    }
    return doubled;
}

// A file is a set of descriptors of one descriptor, which QEMU opens by the set's name.
std::string hand_on_set(MachineOptions& machine, Descriptor file) {
    const std::string set = std::to_string(machine.hand_on(std::move(file)));
    machine.qemu.insert(machine.qemu.end(), {"-add-fd", "fd=" + set + ",set=" + set});
    return "/dev/fdset/" + set;
}

// An option of QEMU's that opens the disk's files.
std::string describe_files(MachineOptions& machine, DiskChoice choice) {
    // QEMU makes a snapshot's temporary file.
    choice.is_read_only = choice.is_read_only || choice.is_snapshot;
    choice.is_snapshot = false;
    if (!choice.is_image()) {
        return "format=raw,file.driver=file,file.locking=on,auto-read-only=off,discard=unmap,file.filename=" +
               hand_on_set(machine, DiskFile(choice).take());
    }
    Image image = open_image(choice);
    examine_image(image);
    std::vector<std::string> names;
    for (ImageFile& file : image) {
        names.push_back(hand_on_set(machine, std::move(file.file.descriptor)));
    }
    return "file=" +
           double_commas("json:" + describe_for_qemu(image, choice.is_unsafe,
                                                     [&](std::size_t place) { return names[place]; }));
}

// QEMU's own controller.
void add_disk(MachineOptions& machine, const DiskChoice& choice, std::size_t number) {
    const std::string name = "disk" + std::to_string(number);
    std::string drive = "if=none,id=" + name + "," + describe_files(machine, choice);
    drive += choice.is_snapshot ? ",snapshot=on" : "";
    drive += choice.is_read_only ? ",read-only=on" : "";
    drive += choice.is_unsafe ? ",cache=unsafe" : "";
    for (const std::string& word : {std::string("-drive"), drive, std::string("-device"),
                                    "nvme,serial=previrt-" + name + ",drive=" + name}) {
        machine.qemu.push_back(word);
    }
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
        add_disk(machine, choice, ++disks);
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
