// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/place.hpp"

#include "devices/platform/pc.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "monitor/disk/choice.hpp"
#include "monitor/disk/storage_daemon.hpp"
#include "monitor/folder/choice.hpp"
#include "monitor/folder/folder_server.hpp"
#include "monitor/kvm/place.hpp"
#include "monitor/nested/place.hpp"
#include "monitor/network/choice.hpp"
#include "monitor/port/choice.hpp"
#include "monitor/process/place.hpp"
#include "monitor/qemu/bare.hpp"
#include "monitor/qemu/bridged_network.hpp"
#include "monitor/xen/place.hpp"
#include "toolchain/image/kernel_file.hpp"
#include "toolchain/image/pvh_note.hpp"

#include <algorithm>
#include <array>

namespace previrt {

namespace {

constexpr std::uint64_t least_memory = std::uint64_t{32} << 20U;

// For a place that checks the kernel during the run.
template <RunStatus (*run)(const RunOptions&)>
PreparedRun prepare_nothing(const RunOptions& /*options*/) {
    return run;
}

constexpr std::array places = {Place{.name = "process",
                                     .description = "a process of this machine",
                                     .is_automatic = true,
                                     .has_vmm = true,
                                     .has_layers = true,
                                     .network = PlaceNetwork::card_of_vmm,
                                     .disks = PlaceDisks::of_vmm,
                                     .has_folders = true,
                                     .has_ports = true,
                                     .has_commands = true,
                                     .prepare = prepare_process,
                                     .probe = probe_process},
                               Place{.name = "kvm",
                                     .description = "the host's KVM",
                                     .is_automatic = true,
                                     .has_vmm = true,
                                     .has_layers = true,
                                     .network = PlaceNetwork::card_of_vmm,
                                     .disks = PlaceDisks::of_vmm,
                                     .has_folders = true,
                                     .has_ports = true,
                                     .has_commands = true,
                                     .prepare = prepare_kvm,
                                     .probe = probe_kvm},
                               Place{.name = "kvm-nested",
                                     .description = "the KVM of a PC under QEMU, TCG, with emulated SVM",
                                     .is_automatic = false,
                                     .has_vmm = true,
                                     .has_layers = false,
                                     .network = PlaceNetwork::card_of_vmm_bridged,
                                     .disks = PlaceDisks::none,
                                     .has_folders = false,
                                     .has_ports = false,
                                     .has_commands = false,
                                     .prepare = prepare_nothing<run_nested_kvm>,
                                     .probe = probe_nested_kvm},
                               Place{.name = "xen",
                                     .description = "Xen on a PC under QEMU, TCG; the first domain",
                                     .is_automatic = false,
                                     .has_vmm = true,
                                     .has_layers = false,
                                     .network = PlaceNetwork::none,
                                     .disks = PlaceDisks::none,
                                     .has_folders = false,
                                     .has_ports = false,
                                     .has_commands = false,
                                     .prepare = prepare_nothing<run_xen>,
                                     .probe = probe_xen},
                               Place{.name = "xen-domu",
                                     .description = "Xen on a PC under QEMU, TCG; a domain of its own",
                                     .is_automatic = false,
                                     .has_vmm = true,
                                     .has_layers = false,
                                     .network = PlaceNetwork::card_of_vmm_bridged,
                                     .disks = PlaceDisks::of_vmm,
                                     .has_folders = false,
                                     .has_ports = false,
                                     .has_commands = false,
                                     .prepare = prepare_nothing<run_xen_domu>,
                                     .probe = probe_xen_domu},
                               Place{.name = "bare",
                                     .description = "a PC under QEMU, TCG",
                                     .is_automatic = true,
                                     .has_vmm = false,
                                     .has_layers = false,
                                     .network = PlaceNetwork::card_of_qemu,
                                     .disks = PlaceDisks::of_qemu,
                                     .has_folders = true,
                                     .has_ports = false,
                                     .has_commands = false,
                                     .prepare = prepare_nothing<run_bare>,
                                     .probe = probe_bare}};

void check_for_bare(const RunOptions& options) {
    const KernelFile kernel = load_kernel_file(options.kernel);
    if (!options.initrd.empty()) {
        read_file(options.initrd);
    }
    if (!options.stats.empty()) {
        throw InputError("--stats: on bare metal no VMM counts anything");
    }
    if (!kernel.packed && !has_pvh_note(kernel.elf)) {
        throw InputError(options.kernel +
                         ": neither a bzImage nor an ELF file with a PVH note, which is what "
                         "a bare machine starts");
    }
}

std::string names_of_places(bool (*is_meant)(const Place& place)) {
    std::string names;
    for (const Place& place : places) {
        if (is_meant(place)) {
            names += (names.empty() ? "" : ", ") + std::string(place.name);
        }
    }
    return names;
}

void check_card_of_vmm(const RunOptions& options, const Place& place) {
    if (!options.rewrite) {
        throw InputError("--net: the in-place VMM models the card, and with --no-rewrite there is no such "
                         "VMM: leave out one "
                         "of them");
    }
    const NetworkChoice choice = parse_network(options.net);
    if (place.network == PlaceNetwork::card_of_vmm_bridged) {
        check_bridged_network(choice, place.name);
    }
    if (options.memory > Pc::network_memory) {
        throw InputError(
            "--net: the card has its registers below 4 GiB, so that --memory may be 4064M at most");
    }
}

void check_card_of_qemu(const RunOptions& options, const Place& place) {
    if (options.net != "user" && options.net != "user,host-loopback" && !options.net.starts_with("tap=")) {
        throw InputError("--net " + options.net + ": --on " + place.name +
                         " has user,host-loopback, tap=NAME, none");
    }
    check_network_of_qemu(parse_network(options.net), place.name);
}

void check_command(const RunOptions& options, const Place& place) {
    if (options.command.empty()) {
        if (!options.environment.empty()) {
            throw InputError("--env: that is for a command, behind --");
        }
        return;
    }
    if (!place.has_commands) {
        throw InputError("a command: --on " + std::string(place.name) + " has none so far; these have: " +
                         names_of_places([](const Place& other) { return other.has_commands; }));
    }
    if (options.initrd.empty() && options.root.empty()) {
        throw InputError("a command needs the files of its guest: give them by --root or --initrd");
    }
}

void check_network(const RunOptions& options, const Place& place) {
    if (options.net == "none") {
        return;
    }
    switch (place.network) {
    case PlaceNetwork::none:
        throw InputError("--net: --on " + std::string(place.name) +
                         " has no network so far; these have: " + names_of_places([](const Place& other) {
                             return other.has_vmm && other.network != PlaceNetwork::none;
                         }));
    case PlaceNetwork::card_of_vmm:
    case PlaceNetwork::card_of_vmm_bridged:
        check_card_of_vmm(options, place);
        break;
    case PlaceNetwork::card_of_qemu:
        check_card_of_qemu(options, place);
    }
}

void check_disks(const RunOptions& options, const Place& place) {
    if (options.disks.empty()) {
        return;
    }
    if (place.disks == PlaceDisks::none) {
        throw InputError("--disk: --on " + std::string(place.name) + " has no disks so far; these have: " +
                         names_of_places([](const Place& other) { return other.disks != PlaceDisks::none; }));
    }
    if (place.disks == PlaceDisks::of_vmm && !options.rewrite) {
        throw InputError(
            "--disk: the in-place VMM models the disks' controllers, and with --no-rewrite there is no "
            "such VMM: leave out one of them");
    }
    if (place.disks == PlaceDisks::of_vmm && options.memory > Pc::disk_memory) {
        throw InputError("--disk: the controllers have their registers below 4 GiB, so that --memory may be "
                         "4048M at most");
    }
    if (std::ranges::any_of(parse_disks(options.disks), &DiskChoice::is_image)) {
        require_storage_daemon();
    }
}

void check_folders(const RunOptions& options, const Place& place) {
    const std::vector<FolderChoice> folders = parse_folders(options);
    if (folders.empty()) {
        return;
    }
    if (!place.has_folders) {
        throw InputError("--root, --share: --on " + std::string(place.name) +
                         " has no folders so far; these have: " +
                         names_of_places([](const Place& other) { return other.has_folders; }));
    }
    if (place.has_vmm && !options.rewrite) {
        throw InputError("--root, --share: the in-place VMM models the folders' devices, and with "
                         "--no-rewrite there is no such VMM: leave out one of them");
    }
    if (!options.root.empty() && !options.initrd.empty()) {
        throw InputError("--root: the guest has its files there, and by --initrd others: leave out one of "
                         "them");
    }
    if (!std::ranges::all_of(folders, &FolderChoice::is_socket)) {
        require_folder_server();
    }
}

void check_ports(const RunOptions& options, const Place& place) {
    if (parse_ports(options).empty()) {
        return;
    }
    if (!place.has_ports) {
        throw InputError("--port: --on " + std::string(place.name) + " has no ports so far; these have: " +
                         names_of_places([](const Place& other) { return other.has_ports; }));
    }
    if (!options.rewrite) {
        throw InputError("--port: the in-place VMM models the ports' device, and with --no-rewrite there is "
                         "no such VMM: leave out one of them");
    }
}

} // namespace

std::span<const Place> all_places() {
    return places;
}

const Place& place_of(const std::string& name) {
    for (const Place& place : places) {
        if (name == place.name) {
            return place;
        }
    }
    throw InputError("--on " + name + ": there is no such place");
}

std::vector<std::string> place_names() {
    std::vector<std::string> names = {"auto"};
    for (const Place& place : places) {
        names.emplace_back(place.name);
    }
    return names;
}

void check_place(const RunOptions& options, const Place& place) {
    if (options.memory < least_memory) {
        throw InputError("--memory: a kernel needs 32M at least");
    }
    if (options.require_isolation && !place.has_layers) {
        throw InputError(
            "--require-isolation: --on " + std::string(place.name) +
            " emulates the guest by QEMU, which promises no security there; take one of these: " +
            names_of_places([](const Place& other) { return other.has_layers; }));
    }
    check_network(options, place);
    check_disks(options, place);
    check_folders(options, place);
    check_ports(options, place);
    check_command(options, place);
    if (!place.has_vmm) {
        check_for_bare(options);
    }
}

} // namespace previrt
