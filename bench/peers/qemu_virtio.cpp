// SPDX-License-Identifier: BSD-2-Clause
#include "bench/peers/qemu_virtio.hpp"

#include "bench/measured_places.hpp"
#include "host/program_file.hpp"
#include "monitor/disk/disk_file.hpp"
#include "monitor/qemu/qemu.hpp"

namespace previrt {

Program QemuVirtio::program(const std::vector<std::string>& words) {
    const Rights rights = qemu_rights().rights;
    program_ = {.arguments = {qemu_program}, .directory = {}, .environment = {}, .rights = rights};
    handed_on_.push_back(open_for_program(kernel_, rights));
    std::vector<std::string> line = {"console=ttyS0",
                                     "panic=-1",
                                     "nokaslr",
                                     "mitigations=off",
                                     "rootfstype=virtiofs",
                                     "root=" + std::string(root_tag),
                                     "ro"};
    line.insert(line.end(), words.begin(), words.end());
    add({"-sandbox",   qemu_sandbox,
         "-accel",     "tcg",
         "-cpu",       "max",
         "-m",         memory_,
         "-display",   "none",
         "-serial",    "stdio",
         "-no-reboot", "-nodefaults",
         "-kernel",    name_of_inherited(handed_on_.front()),
         "-append",    command_line(line),
         "-object",    "memory-backend-memfd,id=ram,share=on,size=" + memory_,
         "-machine",   "memory-backend=ram"});
    add_disks();
    add_folder({.path = "/", .tag = std::string(root_tag), .is_read_only = true});
    add_folder({.path = folder_, .tag = tag, .is_read_only = false});
    for (const Descriptor& descriptor : handed_on_) {
        program_.inherited.push_back(descriptor.number());
    }
    return program_;
}

void QemuVirtio::add(std::initializer_list<std::string> words) {
    program_.arguments.insert(program_.arguments.end(), words);
}

void QemuVirtio::add_disks() {
    for (const Disk& disk : disks_) {
        DiskChoice choice;
        choice.path = disk.file;
        choice.is_read_only = disk.is_read_only;
        handed_on_.push_back(DiskFile(choice).take());
        const std::string number = std::to_string(handed_on_.size());
        const std::string name = "disk" + number;
        add({"-add-fd", "fd=" + std::to_string(handed_on_.back().number()) + ",set=" + number, "-drive",
             "if=none,format=raw,file.driver=file,auto-read-only=off,id=" + name +
                 ",file.filename=/dev/fdset/" + number + (disk.is_read_only ? ",read-only=on" : ""),
             "-device", "virtio-blk-pci,drive=" + name});
    }
}

void QemuVirtio::add_folder(const FolderChoice& choice) {
    servers_.emplace_back(choice);
    handed_on_.push_back(servers_.back().take_connection());
    const std::string name = "folder" + std::to_string(servers_.size());
    add({"-chardev", "socket,id=" + name + ",fd=" + std::to_string(handed_on_.back().number()), "-device",
         "vhost-user-fs-pci,queue-size=1024,chardev=" + name + ",tag=" + choice.tag});
}

} // namespace previrt
