// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/qemu/debian_kernel.hpp"

#include "host/file.hpp"
#include "host/input_error.hpp"
#include "toolchain/image/bzimage.hpp"

#include <filesystem>

namespace previrt {

namespace {

namespace fs = std::filesystem;

// The only file or directory there whose name begins so; the kernel's version follows.
std::string find(const std::string& directory, const std::string& beginning) {
    if (fs::is_directory(directory)) {
        for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
            if (entry.path().filename().string().starts_with(beginning)) {
                return entry.path().string();
            }
        }
    }
    throw InputError("Debian's packages have changed: no " + directory + "/" + beginning + "*");
}

} // namespace

std::string name_of_module(const std::string& module) {
    return fs::path(module).filename().string();
}

void take_debian_kernel(const std::string& root, const std::string& vmlinux,
                        const std::vector<std::string>& modules, const std::string& modules_to) {
    // An emulated processor would take seconds to unpack it.
    write_file(vmlinux, unpack_bzimage(read_file(find(root + "/boot", "vmlinuz-"))).kernel);
    const std::string kernel = find(root + "/lib/modules", "") + "/kernel/";
    for (const std::string& module : modules) {
        if (!fs::is_regular_file(kernel + module)) {
            throw InputError("Debian's packages have changed: no " + kernel + module);
        }
        fs::rename(kernel + module, modules_to + "/" + name_of_module(module));
    }
}

} // namespace previrt
