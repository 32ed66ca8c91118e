// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/nested/host.hpp"

#include "host/cached_directory.hpp"
#include "host/debian_packages.hpp"
#include "host/file.hpp"
#include "host/initramfs.hpp"
#include "host/input_error.hpp"
#include "host/tree.hpp"
#include "monitor/nested/command.hpp"
#include "monitor/nested/shared_libraries.hpp"
#include "monitor/qemu/bridged_network.hpp"
#include "monitor/qemu/debian_kernel.hpp"
#include "toolchain/pack/vmm_image.hpp"

#include <filesystem>

namespace previrt {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

// host-init inserts them in this order, those of the network first.
const std::vector<std::string> modules = {"virt/lib/irqbypass.ko", "drivers/crypto/ccp/ccp.ko",
                                          "arch/x86/kvm/kvm.ko", "arch/x86/kvm/kvm-amd.ko"};
const std::vector<std::string> network_modules = {"net/llc/llc.ko", "net/802/stp.ko", "net/bridge/bridge.ko",
                                                  "drivers/net/ethernet/intel/e1000/e1000.ko",
                                                  "drivers/net/tun.ko"};
constexpr const char* applets[] = {"brctl", "cat",   "dd",     "insmod", "ip", "mkdir", "mkfifo",
                                   "mknod", "mount", "reboot", "sed",    "sh", "stty",  "tunctl"};

std::vector<std::string> all_modules() {
    std::vector<std::string> all = modules;
    all.insert(all.end(), network_modules.begin(), network_modules.end());
    return all;
}

const DebianPackages& packages() {
    static const DebianPackages list{
        .names = {"busybox-static"}, .dependencies_of = {"linux-image-amd64"}, .files = all_modules()};
    return list;
}

// The path of host-init and of its files.
std::string here(const std::string& name) {
    return "/.previrt-nested/" + name;
}

void take_files(const std::string& root, const std::string& directory) {
    const std::string busybox = root + "/bin/busybox";
    if (!fs::is_regular_file(busybox)) {
        throw InputError("Debian's packages have changed: no " + busybox);
    }
    fs::rename(busybox, directory + "/busybox");
    take_debian_kernel(root, directory + "/vmlinux", all_modules(), directory);
    fs::remove_all(root);
}

void add_modules(Initramfs& initramfs, const NestedHost& host, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        const std::string name = name_of_module(path);
        initramfs.add_file(here(name), read_file(host.directory + "/" + name), false);
    }
}

void add_userland(Initramfs& initramfs, const NestedHost& host, bool network) {
    initramfs.add_file(here("init"), read_file(in_source_tree("monitor/nested/host-init")), true);
    initramfs.add_file(here("bin/busybox"), read_file(host.directory + "/busybox"), true);
    for (const char* const applet : applets) {
        initramfs.add_link(here("bin/") + applet, "busybox");
    }
    add_modules(initramfs, host, modules);
    if (network) {
        add_modules(initramfs, host, network_modules);
    }
}

struct HostProgram {
    std::string path;
    std::vector<std::string> libraries;
};

// With all VMMs that it may need.
void add_previrt(Initramfs& initramfs, const HostProgram& previrt) {
    initramfs.add_file_of_host(previrt.path);
    for (const std::string& library : previrt.libraries) {
        initramfs.add_file_of_host(library);
    }
    for (const Hypervisor hypervisor :
         {Hypervisor::kvm, Hypervisor::kvm_privileged, Hypervisor::process, Hypervisor::xen}) {
        initramfs.add_file_of_host(vmm_image_path(hypervisor));
    }
}

constexpr const char* name_in_cache = "nested-host";

} // namespace

std::string locate_nested_host() {
    return "its Linux " + locate_debian_packages(packages(), name_in_cache);
}

NestedHost prepare_nested_host() {
    return {.directory = cached_directory(name_in_cache, packages().list(), [](const std::string& partial) {
                unpack_debian_packages(packages(), partial + "/packages");
                take_files(partial + "/packages", partial);
            })};
}

std::string nested_host_command_line(const RunOptions& options) {
    return "console=ttyS2 panic=-1 nokaslr mitigations=off no_timer_check ipv6.disable=1 rdinit=" +
           here("init") + (options.verbose ? " loglevel=7" : " quiet") +
           // QEMU's processors have one counter. By the model's name Linux takes it for several.
           (options.cpus != 1 ? " tsc=reliable" : "");
}

std::vector<std::uint8_t> make_nested_initramfs(const NestedHost& host, const RunOptions& options,
                                                bool person) {
    Initramfs initramfs;
    const NetworkChoice network = parse_network(options.net);
    add_userland(initramfs, host, network.kind != NetworkKind::none);
    const std::string path = program_beside_this("previrt");
    const HostProgram previrt{.path = path, .libraries = shared_libraries_of(path)};
    add_previrt(initramfs, previrt);

    RunOptions nested = options;
    nested.net = net_in_bridge(network);
    nested.stats = options.stats.empty() ? "" : here("stats");
    for (std::string* const file : {&nested.kernel, &nested.initrd}) {
        if (!file->empty()) {
            *file = fs::canonical(*file).string();
            initramfs.add_file_of_host(*file);
        }
    }
    const std::string command = nested_command(previrt.path, previrt.libraries, nested);
    initramfs.add_file(here("command"), std::vector<std::uint8_t>(command.begin(), command.end()), false);
    if (person) {
        initramfs.add_file(here("person"), {}, false);
    }
    return std::move(initramfs).finish();
}

// When Linux starts, the initramfs is in memory twice, packed and unpacked, and unpacked it may take half of
// the memory that the packed one leaves.
std::uint64_t nested_host_memory(std::uint64_t initramfs_bytes, std::uint64_t guest) {
    return (guest + (3 * initramfs_bytes) + (256 * mib) + mib - 1) / mib * mib;
}

} // namespace previrt
