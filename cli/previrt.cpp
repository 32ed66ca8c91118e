// SPDX-License-Identifier: BSD-2-Clause
// The command line: `previrt COMMAND ...`. Exit status: 0 done, 1 the answer is no, 2 bad arguments or files.
#include "cli/command_line.hpp"
#include "cli/doctor.hpp"
#include "cli/running.hpp"
#include "host/ending_signals.hpp"
#include "host/input_error.hpp"
#include "host/tree.hpp"
#include "monitor/channel/command_signals.hpp"
#include "monitor/network/switch/command.hpp"
#include "monitor/run.hpp"
#include "monitor/running/registry.hpp"
#include "monitor/supervisor.hpp"
#include "toolchain/pack/pack.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace previrt {

namespace {

// Null: this machine has no place for the entry, and no other command needs to find the guest.
std::unique_ptr<GuestEntry> enter_guest(RunOptions& options) {
    try {
        auto entry = std::make_unique<GuestEntry>(options);
        options.sessions = entry->sessions();
        options.consoles = entry->consoles();
        options.chosen = [&options, entry = entry.get()](const std::string& place, bool takes_commands) {
            entry->describe(options, place, takes_commands);
        };
        return entry;
    } catch (const InputError& error) {
        if (!options.name.empty()) {
            throw;
        }
        if (options.verbose) {
            std::cerr << "previrt: no exec, list, stop, cp or console for this guest: " << error.what()
                      << '\n';
        }
        return nullptr;
    }
}

// The arguments behind the first "--" of `run`: then a missing KERNEL is not the command's first word.
std::vector<std::string> take_command(int& argc, char** argv) {
    char** const end = argv + argc;
    char** const found =
        std::find_if(argv, end, [](const char* text) { return std::string_view(text) == "--"; });
    if (argc < 2 || std::string_view(argv[1]) != "run" || found == end) {
        return {};
    }
    argc = static_cast<int>(found - argv);
    return {found + 1, end};
}

std::string default_kernel() {
    const std::string kernel = installed_kernel();
    if (kernel.empty()) {
        throw InputError(
            "run: there is no KERNEL, and Debian's package previrt-guest-kernel, which has one, is not "
            "installed");
    }
    return kernel;
}

void add_run(CLI::App& app, Action& action, const std::vector<std::string>& guests_command) {
    auto* const command = app.add_subcommand(
        "run", "Run a kernel (exit 0: it powered off or rebooted, 1: it failed, 124: it took too long), or a "
               "command in its guest (exit: the command's; 125: previrt failed, 126, 127: the command cannot "
               "be executed, is not there)");
    const auto options = std::make_shared<RunOptions>();
    command->add_option("KERNEL", options->kernel,
                        "A bzImage, or an ELF executable (that of the package previrt-guest-kernel)");
    command->add_option("--on", options->on, "The place where it runs; auto: the best that works here (auto)")
        ->check(CLI::IsMember(place_names()));
    command->add_option("--name", options->name,
                        "Its name for exec, list, stop, cp and console (the number of this process)");
    command->add_option("--initrd", options->initrd, "Its initial RAM disk");
    command->add_option("--append", options->append, "Its command line, behind console=ttyS0 panic=-1");
    command
        ->add_option(
            "--memory", options->memory,
            "Its RAM (256M); docs/process.md says how much memory a guest in a process takes beside it")
        ->transform(CLI::AsSizeValue(false));
    command
        ->add_option("--cpus", options->cpus,
                     "Its processors, up to 64; on bare metal as many as QEMU has (1)")
        ->check(CLI::Range(1, 64));
    command->add_option(
        "--net", options->net,
        "user[,host-loopback][,tcp=HOSTPORT:GUESTPORT][,mtu=BYTES], tap=NAME, switch=SOCKET, each with "
        "[,mac=ADDRESS], or none (none)");
    command
        ->add_option(
            "--disk", options->disks,
            "FILE[,ro][,snapshot][,cache=unsafe][,format=FORMAT][,backing=FILE[,backing-format=FORMAT]]: a "
            "disk with the bytes of a file or block device, or an image (raw, qcow2, vmdk, vdi, vpc, vhdx); "
            "several times for several disks (docs/disks.md)")
        ->allow_extra_args(false);
    command->add_option("--root", options->root,
                        "A folder that is the guest's root file system; what the guest writes stays in its "
                        "memory (docs/folders.md)");
    command->add_flag("--rw", options->root_is_writable, "The guest writes to the folder of --root itself");
    command
        ->add_option("--share", options->shares,
                     "DIR[:TAG][,ro]: a folder for the guest, which mounts it by its tag; several times for "
                     "several folders")
        ->allow_extra_args(false);
    command
        ->add_option("--share-socket", options->share_sockets,
                     "SOCKET:TAG: the same, of a server of vhost-user that listens there")
        ->allow_extra_args(false);
    command
        ->add_option("--port", options->ports,
                     "IN:OUT:NAME: a port of a virtio console, whose bytes come from the open descriptor "
                     "number IN and go to number OUT, each or none; IN:OUT: the console itself "
                     "(docs/ports.md)")
        ->allow_extra_args(false);
    command->add_option("--stats", options->stats, "Write the VMM's counters to this file");
    command->add_flag(
        "--isolate", options->isolate,
        "In a process and under KVM, protect the guest's kernel from its programs (on Xen that is always "
        "so)");
    command->add_flag("--require-isolation", options->require_isolation,
                      "In a process and under KVM, refuse to run (exit 2) if a layer between guest and host "
                      "is missing; without this option a warning names the missing layers");
    command->add_flag(
        "!--no-rewrite", options->rewrite,
        "Under KVM with a processor that virtualizes, leave the kernel's instructions unchanged, "
        "to compare with the in-place VMM");
    command->add_flag(
        "!--no-syscall-rewrite", options->rewrite_system_calls,
        "In a process and under KVM, leave the code of the guest's programs unchanged: each of their system "
        "calls then passes through the host");
    command->add_flag(
        "--quiet", options->quiet,
        "Print neither the kernel and its place at the start, nor the warning that the guest's programs can "
        "reach their kernel");
    command->add_flag(
        "--strict", options->strict,
        "End the guest at an access to a port or memory that no device claims (else it reads all ones)");
    command->add_flag("--verbose", options->verbose,
                      "Show the messages and counts of the hypervisor on standard error");
    command
        ->add_option("--timeout", options->timeout, "Seconds after which the guest is ended, with status 124")
        ->check(CLI::PositiveNumber);
    command
        ->add_option("--env", options->environment,
                     "A variable of the command's environment: NAME=VALUE, or NAME for this one's value")
        ->allow_extra_args(false);
    command->add_option("COMMAND", options->command,
                        "Behind --: a command and its arguments, which the guest runs instead of its init");
    command->callback([&action, options, guests_command] {
        action = [options, guests_command] {
            options->is_own_process = true;
            options->command.insert(options->command.end(), guests_command.begin(), guests_command.end());
            const Supervision of_command{.signals = command_signals, .failed = command_failed};
            try {
                if (options->kernel.empty()) {
                    options->kernel = default_kernel();
                }
                const std::unique_ptr<GuestEntry> entry = enter_guest(*options);
                return run_supervised([&] { return run_guest_of_command(*options); },
                                      options->command.empty() ? console_supervision : of_command);
            } catch (const InputError& error) {
                std::cerr << "previrt: " << error.what() << '\n';
                return options->command.empty() ? bad_input : int{command_failed};
            }
        };
    });
}

void add_switch(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand(
        "switch", "Connect guests that run with --net switch=SOCKET by an Ethernet, until a signal ends it");
    const auto path = std::make_shared<std::string>();
    command->add_option("SOCKET", *path, "The path at which it listens, at most 107 characters")->required();
    command->callback([&action, path] {
        action = [path] {
            run_switch(*path, hold_ending_signals());
            return 0;
        };
    });
}

void add_pack(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand("pack", "Make the files a hypervisor boots");
    const auto options = std::make_shared<PackOptions>();
    command->add_option("--for", "The hypervisor: xen")->required()->check(CLI::IsMember({"xen"}));
    command->add_option("KERNEL", options->kernel, "A bzImage, or an ELF executable")->required();
    command->add_option("--initrd", options->initrd, "Its initial RAM disk");
    command->add_option("--append", options->append, "Its command line, behind console=ttyS0 panic=-1");
    command->add_option("--memory", options->memory, "Its RAM (256M)")->transform(CLI::AsSizeValue(false));
    command->add_option("--cpus", options->processors, "Its processors (1)")->check(CLI::Range(1, 64));
    command->add_flag(
        "--strict", options->strict,
        "End the guest at an access to a port or memory that no device claims (else it reads all ones)");
    command->add_option("--output", options->output, "Directory for previrt-xen, guest, guest.cfg")
        ->required();
    command->callback([&action, options] {
        action = [options] {
            const PackedGuest packed = pack_for_xen(*options);
            std::cout << "kernel sha256: " << packed.kernel_sha256 << "\nstart it: xl create -c "
                      << packed.configuration << '\n';
            return 0;
        };
    });
}

void add_doctor(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand(
        "doctor",
        "Say what works on this machine, and why the rest does not (exit 1: no guest can run here)");
    const auto json = std::make_shared<bool>(false);
    command->add_flag("--json", *json, "Print it as JSON");
    command->callback([&action, json] {
        action = [json] {
            const MachineReport report = examine_machine();
            if (*json) {
                print_json(std::cout, report);
            } else {
                print_text(std::cout, report);
            }
            return report.can_run_guests() ? 0 : answer_is_no;
        };
    });
}

// ---- programs beside this one

struct OtherProgram {
    const char* command;
    const char* description;
    const char* program;
};

constexpr std::array other_programs = {
    OtherProgram{.command = "audit",
                 .description = "Prove that no sensitive instruction is unrecorded (exit 1: one is)",
                 .program = "previrt-prepare"},
    OtherProgram{
        .command = "sites", .description = "Print the records by kind", .program = "previrt-prepare"},
    OtherProgram{.command = "sort-sites",
                 .description = "Sort the records of a linked file by address, in place",
                 .program = "previrt-prepare"},
    OtherProgram{.command = "build-linux",
                 .description = "Build a pre-virtualized Linux (exit 1: built, but the audit found gaps)",
                 .program = "previrt-prepare"},
    OtherProgram{.command = "bench", .description = "Measure beside the peers", .program = "previrt-bench"}};

// Returns only if the program is missing.
void become(const char* name, char** argv) {
    const std::string path = program_beside_this(name);
    execv(path.c_str(), argv);
    throw InputError(
        path + ": " + std::generic_category().message(errno) +
        " (cmake --build --preset release makes it; an installed previrt has no bench, which runs "
        "from the source tree, and the others by its package previrt-dev)");
}

std::string help_all_text() {
    std::string names;
    for (const OtherProgram& other : other_programs) {
        names += (names.empty() ? "" : ", ") + std::string(other.command);
    }
    return "Help for every command but " + names + ", which have their own: previrt COMMAND --help";
}

// Each parses its own options: `previrt COMMAND --help` is its help.
void add_other_programs(CLI::App& app, Action& action, char** argv) {
    for (const OtherProgram& other : other_programs) {
        auto* const command = app.add_subcommand(other.command, other.description);
        command->set_help_flag();
        command->allow_extras();
        command->callback([&action, argv, program = other.program] {
            action = [argv, program] {
                become(program, argv);
                return bad_input;
            };
        });
    }
}

} // namespace

} // namespace previrt

int main(int argc, char** argv) {
    CLI::App app("Pre-virtualized kernels: one binary for bare metal and for every hypervisor.", "previrt");
    app.require_subcommand(1);
    app.set_help_all_flag("--help-all", previrt::help_all_text());
    app.set_version_flag("--version", PREVIRT_VERSION);
    previrt::Action action;
    previrt::add_other_programs(app, action, argv);
    previrt::add_pack(app, action);
    const std::vector<std::string> command = previrt::take_command(argc, argv);
    previrt::add_run(app, action, command);
    previrt::add_running_guests(app, action);
    previrt::add_switch(app, action);
    previrt::add_doctor(app, action);
    return previrt::run_command_line(app, argc, argv, action);
}
