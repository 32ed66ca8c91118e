// SPDX-License-Identifier: BSD-2-Clause
#include "bench/peers/debian_linux.hpp"

#include "host/cached_directory.hpp"
#include "host/debian_packages.hpp"
#include "monitor/qemu/debian_kernel.hpp"

#include <filesystem>

namespace previrt {

namespace {

// In load order.
const std::vector<std::string> modules = {"drivers/virtio/virtio_ring.ko",
                                          "drivers/virtio/virtio.ko",
                                          "drivers/virtio/virtio_pci_legacy_dev.ko",
                                          "drivers/virtio/virtio_pci_modern_dev.ko",
                                          "drivers/virtio/virtio_pci.ko",
                                          "net/core/failover.ko",
                                          "drivers/net/net_failover.ko",
                                          "drivers/net/virtio_net.ko"};

} // namespace

DebianLinux find_debian_linux() {
    const DebianPackages packages{.names = {}, .dependencies_of = {"linux-image-amd64"}, .files = modules};
    const std::string directory =
        cached_directory("virtio-linux", packages.list(), [&](const std::string& partial) {
            const std::string root = partial + "/packages";
            unpack_debian_packages(packages, root);
            take_debian_kernel(root, partial + "/vmlinux", modules, partial);
            std::filesystem::remove_all(root);
        });
    DebianLinux found{.vmlinux = directory + "/vmlinux", .modules = {}};
    for (const std::string& module : modules) {
        const std::string place = "/modules/" + std::to_string(found.modules.size() + 1) + ".ko";
        found.modules.emplace_back(place, directory + "/" + name_of_module(module));
    }
    return found;
}

} // namespace previrt
