// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/folder/folder_server.hpp"

#include <string>
#include <vector>

namespace previrt {

// A PC under QEMU's TCG with virtio's disks and folders. This machine's root is the guest's, read-only.
class QemuVirtio {
public:
    struct Disk {
        std::string file;
        bool is_read_only;
    };

    QemuVirtio(std::string kernel, std::vector<Disk> disks, std::string folder, std::string memory)
        : kernel_(std::move(kernel)), disks_(std::move(disks)), folder_(std::move(folder)),
          memory_(std::move(memory)) {}

    // The tag of the folder in the guest.
    static constexpr const char* tag = "folder";
    // Called once, with words for the kernel's command line. While this lives, the folders are served, and
    // the disks belong to the program. Throws InputError.
    Program program(const std::vector<std::string>& words);

private:
    void add(std::initializer_list<std::string> words);
    void add_disks();
    void add_folder(const FolderChoice& choice);

    std::string kernel_;
    std::vector<Disk> disks_;
    std::string folder_;
    std::string memory_;
    Program program_;
    std::vector<FolderServer> servers_;
    std::vector<Descriptor> handed_on_;
};

} // namespace previrt
