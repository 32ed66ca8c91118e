// SPDX-License-Identifier: BSD-2-Clause
#include "bench/debian_linux.hpp"

#include "toolchain/image/bzimage.hpp"
#include "toolchain/image/file.hpp"
#include "toolchain/image/input_error.hpp"
#include "toolchain/run/cached_directory.hpp"
#include "toolchain/run/debian_packages.hpp"

#include <filesystem>

namespace previrt {

namespace {

namespace fs = std::filesystem;

// By name in the order of their need.
constexpr std::pair<const char*, const char*> modules[] = {
    {"1.ko", "drivers/virtio/virtio_ring.ko"},
    {"2.ko", "drivers/virtio/virtio.ko"},
    {"3.ko", "drivers/virtio/virtio_pci_legacy_dev.ko"},
    {"4.ko", "drivers/virtio/virtio_pci_modern_dev.ko"},
    {"5.ko", "drivers/virtio/virtio_pci.ko"},
    {"6.ko", "net/core/failover.ko"},
    {"7.ko", "drivers/net/net_failover.ko"},
    {"8.ko", "drivers/net/virtio_net.ko"},
};

// The only one there: its name has the kernel's version.
std::string only_one(const std::string& directory, const std::string& beginning) {
    for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
        if (entry.path().filename().string().starts_with(beginning)) {
            return entry.path().string();
        }
    }
    throw InputError("Debian's packages have changed: no " + directory + "/" + beginning + "*");
}

// Of 400 MB what is needed.
void take_files(const std::string& root, const std::string& directory) {
    // Emulated, it would take seconds to unpack itself.
    write_file(directory + "/vmlinux",
               unpack_bzimage(read_file(only_one(root + "/boot", "vmlinuz-"))).kernel);
    const std::string kernel = only_one(root + "/lib/modules", "") + "/kernel/";
    for (const auto& [name, path] : modules) {
        if (!fs::exists(kernel + path)) {
            throw InputError("Debian's packages have changed: no " + kernel + path);
        }
        fs::rename(kernel + path, directory + "/" + name);
    }
    fs::remove_all(root);
}

} // namespace

DebianLinux find_debian_linux() {
    const DebianPackages packages{.names = {}, .dependencies_of = {"linux-image-amd64"}, .files = {}};
    const std::string directory =
        cached_directory("virtio-linux", packages.list(), [&](const std::string& partial) {
            unpack_debian_packages(packages, partial + "/packages");
            take_files(partial + "/packages", partial);
        });
    DebianLinux found{.vmlinux = directory + "/vmlinux", .modules = {}};
    for (const auto& [name, path] : modules) {
        found.modules.emplace_back(std::string("/modules/") + name, directory + "/" + name);
    }
    return found;
}

} // namespace previrt
