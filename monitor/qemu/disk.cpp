// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/qemu/disk.hpp"

#include "monitor/disk/disk_file.hpp"
#include "monitor/disk/image.hpp"
#include "monitor/disk/storage_daemon.hpp"
#include "monitor/qemu/qemu.hpp"

#include <string>
#include <vector>

namespace previrt {

namespace {

// QEMU's options for a disk's files.
struct Files {
    std::string option;
    std::string block_size; // options of a device; empty: QEMU's own choice
};

// A file is a set of descriptors of one descriptor, which QEMU opens by the set's name.
std::string hand_on_set(MachineOptions& machine, Descriptor file) {
    const std::string set = std::to_string(machine.hand_on(std::move(file)));
    machine.qemu.insert(machine.qemu.end(), {"-add-fd", "fd=" + set + ",set=" + set});
    return "/dev/fdset/" + set;
}

Files hand_on_files(MachineOptions& machine, DiskChoice choice) {
    // QEMU makes a snapshot's temporary file.
    choice.is_read_only = choice.is_read_only || choice.is_snapshot;
    choice.is_snapshot = false;
    if (!choice.is_image()) {
        DiskFile file(choice);
        const std::string bytes = std::to_string(file.disk().block_bytes);
        return {.option = "format=raw,file.driver=file,file.locking=on,auto-read-only=off,discard=unmap,"
                          "file.filename=" +
                          hand_on_set(machine, file.take()),
                .block_size = ",logical_block_size=" + bytes + ",physical_block_size=" + bytes};
    }
    Image image = open_image(choice);
    examine_image(image);
    std::vector<std::string> names;
    for (ImageFile& file : image) {
        names.push_back(hand_on_set(machine, std::move(file.file.descriptor)));
    }
    return {.option = "file=" + double_commas("json:" + describe_for_qemu(
                                                            image, choice.is_unsafe,
                                                            [&](std::size_t place) { return names[place]; })),
            .block_size = {}};
}

std::string device(QemuDisk kind, const std::string& name, const std::string& block_size) {
    if (kind == QemuDisk::nvme) {
        return "nvme,serial=previrt-" + name + ",drive=" + name;
    }
    // An error of the file is one of the request, and does not stop the machine.
    return "virtio-blk-pci,werror=report,rerror=report" + block_size + ",drive=" + name;
}

} // namespace

void add_disk(MachineOptions& machine, const DiskChoice& choice, std::size_t number, QemuDisk kind) {
    const std::string name = "disk" + std::to_string(number);
    const Files files = hand_on_files(machine, choice);
    std::string drive = "if=none,id=" + name + "," + files.option;
    drive += choice.is_snapshot ? ",snapshot=on" : "";
    drive += choice.is_read_only ? ",read-only=on" : "";
    drive += choice.is_unsafe ? ",cache=unsafe" : "";
    machine.disk_files[name] = choice.path;
    for (const std::string& word :
         {std::string("-drive"), drive, std::string("-device"), device(kind, name, files.block_size)}) {
        machine.qemu.push_back(word);
    }
}

} // namespace previrt
