// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/run.hpp"

#include "devices/platform/pc.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "monitor/console/messages.hpp"
#include "monitor/kvm/place.hpp"
#include "monitor/nested/place.hpp"
#include "monitor/network/choice.hpp"
#include "monitor/process/place.hpp"
#include "monitor/qemu/bare.hpp"
#include "monitor/qemu/bridged_network.hpp"
#include "monitor/xen/place.hpp"
#include "toolchain/image/kernel_file.hpp"
#include "toolchain/image/pvh_note.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <iostream>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

constexpr std::uint64_t least_memory = std::uint64_t{32} << 20U;

// One place where a guest can run.
struct Place {
    const char* name;
    const char* description;
    bool has_vmm;
    bool has_layers;  // between guest and host, which --require-isolation may ask for
    bool has_network; // what --net may ask for, check_network knows
    // Both throw InputError: for what this guest asks for, and for what this machine lacks.
    PreparedRun (*prepare)(const RunOptions& options);
    PlaceFinding (*probe)();
};

// For a place that looks at the kernel in the course of the run.
template <RunStatus (*run)(const RunOptions&)>
PreparedRun prepare_nothing(const RunOptions& /*options*/) {
    return run;
}

constexpr Place process = {.name = "process",
                           .description = "a process of this machine",
                           .has_vmm = true,
                           .has_layers = true,
                           .has_network = true,
                           .prepare = prepare_process,
                           .probe = probe_process};
constexpr Place bare = {.name = "bare",
                        .description = "a PC under QEMU, TCG",
                        .has_vmm = false,
                        .has_layers = false,
                        .has_network = false,
                        .prepare = prepare_nothing<run_bare>,
                        .probe = probe_bare};
constexpr Place kvm = {.name = "kvm",
                       .description = "the host's KVM",
                       .has_vmm = true,
                       .has_layers = true,
                       .has_network = true,
                       .prepare = prepare_kvm,
                       .probe = probe_kvm};
constexpr Place nested_kvm = {.name = "kvm-nested",
                              .description = "the KVM of a PC under QEMU, TCG, with emulated SVM",
                              .has_vmm = true,
                              .has_layers = false,
                              .has_network = true,
                              .prepare = prepare_nothing<run_nested_kvm>,
                              .probe = probe_nested_kvm};
constexpr Place xen = {.name = "xen",
                       .description = "Xen on a PC under QEMU, TCG; the first domain",
                       .has_vmm = true,
                       .has_layers = false,
                       .has_network = false,
                       .prepare = prepare_nothing<run_xen>,
                       .probe = probe_xen};
constexpr Place xen_domu = {.name = "xen-domu",
                            .description = "Xen on a PC under QEMU, TCG; a domain of its own",
                            .has_vmm = true,
                            .has_layers = false,
                            .has_network = true,
                            .prepare = prepare_nothing<run_xen_domu>,
                            .probe = probe_xen_domu};
constexpr std::array places = {&process, &kvm, &nested_kvm, &xen, &xen_domu, &bare};

// The best first: from the one that asks least of the machine.
constexpr std::array automatic_places = {&process, &kvm, &bare};

const Place& place_of(const std::string& name) {
    for (const Place* const place : places) {
        if (name == place->name) {
            return *place;
        }
    }
    throw InputError("--on " + name + ": there is no such place");
}

PlaceReport probe(const Place& place) {
    PlaceReport report{
        .name = place.name, .description = place.description, .works = false, .finding = {}, .refusal = {}};
    try {
        report.finding = place.probe();
        report.works = true;
    } catch (const InputError& error) {
        report.refusal = error.what();
    }
    return report;
}

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

void check_for_vmm(const RunOptions& options) {
    if (options.cpus != 1) {
        throw InputError("--cpus: under a VMM a guest has one processor so far");
    }
}

// The PC under QEMU has a card of another maker, and QEMU's own networks.
void check_network(const RunOptions& options, const Place& place) {
    if (options.net == "none") {
        return;
    }
    if (place.has_network && !options.rewrite) {
        throw InputError(
            "--net: the card is the in-place VMM's, which a guest does not get with --no-rewrite: leave out "
            "one of them");
    }
    if (place.has_network) {
        const NetworkChoice choice = parse_network(options.net);
        if (&place == &xen_domu || &place == &nested_kvm) {
            check_bridged_network(choice, place.name);
        }
        if (options.memory > Pc::network_memory) {
            throw InputError(
                "--net: the card has its registers below 4 GiB, so that --memory may be 4064M at most");
        }
    } else if (place.has_vmm) {
        throw InputError("--net: --on " + std::string(place.name) +
                         " has no network so far; process, kvm, kvm-nested and xen-domu have");
    } else if (options.net != "user" && options.net != "user,host-loopback" &&
               !options.net.starts_with("tap=")) {
        throw InputError("--net " + options.net + ": --on bare has user,host-loopback, tap=NAME, none");
    } else {
        check_network_of_qemu(parse_network(options.net), place.name);
    }
}

void check(const RunOptions& options, const Place& place) {
    if (options.memory < least_memory) {
        throw InputError("--memory: a kernel needs 32M at least");
    }
    if (options.require_isolation && !place.has_layers) {
        throw InputError("--require-isolation: --on " + std::string(place.name) +
                         " runs QEMU, of which it promises nothing: take process or kvm");
    }
    check_network(options, place);
    if (place.has_vmm) {
        check_for_vmm(options);
    } else {
        check_for_bare(options);
    }
}

struct ChosenPlace {
    const Place& place;
    PreparedRun run;
};

ChosenPlace prepare(const RunOptions& options, const Place& place) {
    check(options, place);
    return {.place = place, .run = place.prepare(options)};
}

// Places that cannot run a guest for the same reason.
struct Refusal {
    std::string places;
    std::string reason;
};

void add_refusal(std::vector<Refusal>& refusals, const Place& place, const std::string& reason) {
    if (refusals.empty() || refusals.back().reason != reason) {
        refusals.push_back({.places = place.name, .reason = reason});
    } else {
        refusals.back().places += std::string(", ") + place.name;
    }
}

// The best place that works here and can run this kernel with these options.
ChosenPlace choose_place(const RunOptions& options) {
    std::vector<Refusal> refusals;
    for (const Place* const place : automatic_places) {
        try {
            place->probe();
            ChosenPlace chosen = prepare(options, *place);
            for (const Refusal& refusal : refusals) {
                std::cerr << "previrt: not on " << refusal.places << ": " << refusal.reason << '\n';
            }
            return chosen;
        } catch (const InputError& error) {
            add_refusal(refusals, *place, error.what());
        }
    }
    load_kernel_file(options.kernel); // or this alone is the reason
    std::string reasons;
    for (const Refusal& refusal : refusals) {
        reasons += (reasons.empty() ? "" : "; ") +
                   (refusals.size() == 1 ? refusal.reason : "on " + refusal.places + ": " + refusal.reason);
    }
    throw InputError(reasons);
}

} // namespace

std::vector<PlaceReport> probe_places() {
    std::vector<PlaceReport> reports;
    reports.reserve(places.size());
    for (const Place* const place : places) {
        reports.push_back(probe(*place));
    }
    return reports;
}

std::string automatic_place() {
    for (const Place* const place : automatic_places) {
        if (probe(*place).works) {
            return place->name;
        }
    }
    return bare.name; // which says what it lacks
}

namespace {

// Before there is a guest: then, where this process has nothing else to do, nothing is opened any more.
Descriptor open_counters(const RunOptions& options, const Place& place) {
    if (options.stats.empty() || !options.is_own_process || !place.has_layers) {
        return Descriptor();
    }
    constexpr mode_t mode = 0666;
    Descriptor file(open(options.stats.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
    if (file.number() < 0) {
        throw InputError("--stats " + options.stats + ": " + std::generic_category().message(errno));
    }
    return file;
}

} // namespace

RunStatus run_guest(const RunOptions& options) {
    const ChosenPlace chosen =
        options.on == "auto" ? choose_place(options) : prepare(options, place_of(options.on));
    const Place& place = chosen.place;
    RunOptions announcing = options;
    const Descriptor counters = open_counters(options, place);
    announcing.counters = counters.number();
    if (options.watch_console && !options.quiet) {
        announcing.announce = [&](const std::string& sha256) {
            std::cerr << "previrt: " << options.kernel << " (sha256 " << sha256 << ") on " << place.name
                      << ": " << place.description << (isatty(STDIN_FILENO) != 0 ? "; Ctrl-] ends it" : "")
                      << '\n';
        };
    }
    return chosen.run(announcing);
}

RunStatus run_guest_of_command(const RunOptions& options) {
    Messages messages;
    RunOptions command = options;
    command.messages = &messages;
    try {
        return run_guest(command);
    } catch (const InputError& error) {
        std::cerr << "previrt: " << error.what() << '\n';
        return run_refused;
    }
}

} // namespace previrt
