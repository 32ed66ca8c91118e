// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/xen/dom0.hpp"

#include "host/cached_directory.hpp"
#include "host/cpio_archive.hpp"
#include "host/debian_packages.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/tree.hpp"
#include "monitor/qemu/debian_kernel.hpp"

#include <filesystem>

namespace previrt {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

constexpr const char* name_in_cache = "xen-dom0";

// In the kernel's package; dom0-init loads them.
const std::vector<std::string> modules = {"drivers/xen/xen-evtchn.ko", "drivers/xen/xen-privcmd.ko",
                                          "drivers/xen/xenfs/xenfs.ko", "drivers/xen/xen-gntdev.ko",
                                          "drivers/xen/xen-gntalloc.ko"};
const std::vector<std::string> network_modules = {"net/llc/llc.ko", "net/802/stp.ko", "net/bridge/bridge.ko",
                                                  "drivers/net/ethernet/intel/e1000/e1000.ko",
                                                  "drivers/net/xen-netback/xen-netback.ko"};
const std::vector<std::string> disk_modules = {"drivers/virtio/virtio.ko",
                                               "drivers/virtio/virtio_ring.ko",
                                               "drivers/virtio/virtio_pci_modern_dev.ko",
                                               "drivers/virtio/virtio_pci_legacy_dev.ko",
                                               "drivers/virtio/virtio_pci.ko",
                                               "drivers/block/virtio_blk.ko",
                                               "drivers/block/xen-blkback/xen-blkback.ko"};
constexpr const char* netfront = "drivers/net/xen-netfront.ko";

std::vector<std::string> all_modules() {
    std::vector<std::string> all = modules;
    all.insert(all.end(), network_modules.begin(), network_modules.end());
    all.insert(all.end(), disk_modules.begin(), disk_modules.end());
    all.emplace_back(netfront);
    return all;
}

const DebianPackages& packages() {
    static const DebianPackages list{.names = {"xen-utils-4.17", "libxenmisc4.17",
                                               "libxencall1",    "libxendevicemodel1",
                                               "libxenevtchn1",  "libxenforeignmemory1",
                                               "libxengnttab1",  "libxenhypfs1",
                                               "libxenstore4",   "libxentoolcore1",
                                               "libxentoollog1", "libyajl2",
                                               "libc6",          "libgcc-s1",
                                               "liblzma5",       "libuuid1",
                                               "libzstd1",       "xenstore-utils",
                                               "zlib1g",         "busybox-static"},
                                     .dependencies_of = {"linux-image-amd64"},
                                     .files = all_modules()};
    return list;
}

constexpr const char* tool_directory = "usr/lib/xen-4.17/bin"; // xl looks for its helpers there
constexpr const char* tools[] = {"xl",          "libxl-save-helper", "xenstored",
                                 "xenconsoled", "xenconsole",        "xen-init-dom0"};
constexpr const char* libraries[] = {"libc.so.6",
                                     "libgcc_s.so.1",
                                     "liblzma.so.5",
                                     "libuuid.so.1",
                                     "libxencall.so.1",
                                     "libxenctrl.so.4.17",
                                     "libxendevicemodel.so.1",
                                     "libxenevtchn.so.1",
                                     "libxenforeignmemory.so.1",
                                     "libxengnttab.so.1",
                                     "libxenguest.so.4.17",
                                     "libxenhypfs.so.1",
                                     "libxenlight.so.4.17",
                                     "libxenstore.so.4",
                                     "libxentoolcore.so.1",
                                     "libxentoollog.so.1",
                                     "libxlutil.so.4.17",
                                     "libyajl.so.2",
                                     "libz.so.1",
                                     "libzstd.so.1"};
constexpr const char* loader = "lib64/ld-linux-x86-64.so.2";
constexpr const char* applets[] = {"brctl",  "cat", "insmod", "ip",   "mkdir", "mount",
                                   "reboot", "sh",  "sleep",  "stat", "stty"};
constexpr const char* directories[] = {"bin",
                                       "dev",
                                       "etc",
                                       "etc/xen",
                                       "etc/xen/scripts",
                                       "guest",
                                       "lib",
                                       "lib64",
                                       "modules",
                                       "proc",
                                       "run",
                                       "run/xen",
                                       "run/lock",
                                       "sys",
                                       "tmp",
                                       "usr",
                                       "usr/lib",
                                       "usr/lib/xen-4.17",
                                       "usr/lib/xen-4.17/bin",
                                       "var",
                                       "var/lib",
                                       "var/lib/xen",
                                       "var/lib/xenstored",
                                       "var/log",
                                       "var/log/xen"};

// The first of these files that exists; directories have moved between releases.
std::string find(const std::string& root, const std::string& name, const std::vector<std::string>& places) {
    for (const std::string& place : places) {
        const std::string path = root + "/" + place + "/" + name;
        if (fs::is_regular_file(path)) {
            return path;
        }
    }
    throw InputError("Debian's packages have changed: no " + name + " in those of Xen's first domain");
}

std::string find_library(const std::string& root, const std::string& name) {
    return find(root, name, {"usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"});
}

void take_kernel(const std::string& root, const std::string& vmlinux) {
    fs::create_directory(root + "/modules");
    take_debian_kernel(root, vmlinux, all_modules(), root + "/modules");
    fs::remove_all(root + "/lib/modules");
    fs::remove_all(root + "/boot");
}

void add_modules(CpioArchive& archive, const std::string& root, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        const std::string file = "modules/" + name_of_module(path);
        archive.add_file(file, read_file(root + "/" + file), false);
    }
}

void add_userland(CpioArchive& archive, const std::string& root) {
    for (const char* const directory : directories) {
        archive.add_directory(directory);
    }
    archive.add_link("var/run", "../run");
    archive.add_link("var/lock", "../run/lock");
    archive.add_file("etc/xen/xl.conf", {}, false);
    archive.add_file("bin/busybox", read_file(find(root, "busybox", {"bin", "usr/bin"})), true);
    for (const char* const applet : applets) {
        archive.add_link(std::string("bin/") + applet, "busybox");
    }
    for (const char* const tool : tools) {
        const std::string path = std::string(tool_directory) + "/" + tool;
        archive.add_file(path, read_file(root + "/" + path), true);
    }
    for (const char* const library : libraries) {
        archive.add_file(std::string("lib/") + library, read_file(find_library(root, library)), true);
    }
    archive.add_file(loader, read_file(find_library(root, fs::path(loader).filename())), true);
    archive.add_file("bin/xenstore-read", read_file(root + "/usr/bin/xenstore"), true);
    archive.add_link("bin/xenstore-write", "xenstore-read");
    add_modules(archive, root, modules);
}

void add_network(CpioArchive& archive, const std::string& root) {
    add_modules(archive, root, network_modules);
    archive.add_file("etc/xen/scripts/vif-guest", read_file(in_source_tree("monitor/xen/dom0-vif")), true);
}

void add_disks(CpioArchive& archive, const std::string& root) {
    add_modules(archive, root, disk_modules);
    archive.add_file("etc/xen/scripts/block-guest", read_file(in_source_tree("monitor/xen/dom0-block")),
                     true);
}

} // namespace

Dom0 prepare_dom0() {
    const std::string directory =
        cached_directory(name_in_cache, packages().list(), [](const std::string& partial) {
            unpack_debian_packages(packages(), partial + "/packages");
            take_kernel(partial + "/packages", partial + "/vmlinux");
        });
    return {.kernel = directory + "/vmlinux",
            .netfront = directory + "/packages/modules/" + name_of_module(netfront),
            .packages = directory + "/packages"};
}

std::string locate_dom0() {
    return "its first domain " + locate_debian_packages(packages(), name_in_cache);
}

// Quick to boot, and silent except for a panic.
std::string dom0_command_line() {
    return "console=hvc0 quiet loglevel=1 panic=-1 nokaslr mitigations=off swiotlb=512 ipv6.disable=1";
}

std::vector<std::uint8_t> make_dom0_initrd(const Dom0& dom0, const std::vector<Dom0File>& guest,
                                           const Dom0Devices& devices) {
    CpioArchive archive;
    add_userland(archive, dom0.packages);
    if (devices.has_bridge) {
        add_network(archive, dom0.packages);
    }
    if (devices.has_disks) {
        add_disks(archive, dom0.packages);
    }
    archive.add_file("init", read_file(in_source_tree("monitor/xen/dom0-init")), true);
    for (const Dom0File& file : guest) {
        archive.add_file("guest/" + file.name, file.contents, file.executable);
    }
    return std::move(archive).finish();
}

// Measured: 144 MiB suffice with dom0's own initrd of 8 MiB. Further contents of the initrd are in memory up
// to three times: packed, unpacked, and in xl.
std::uint64_t dom0_memory(std::uint64_t initrd_bytes) {
    return ((192 * mib) + (3 * initrd_bytes) + mib - 1) / mib * mib;
}

} // namespace previrt
