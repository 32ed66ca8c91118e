// SPDX-License-Identifier: BSD-2-Clause
#include "cli/run.hpp"

#include "host/input_error.hpp"
#include "host/tree.hpp"
#include "monitor/channel/command_signals.hpp"
#include "monitor/place.hpp"
#include "monitor/run.hpp"
#include "monitor/running/registry.hpp"
#include "monitor/supervisor.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

namespace previrt {

namespace {

// Null: this machine has no place for the entry, and no other command needs to find the guest.
std::unique_ptr<GuestEntry> enter_guest(RunOptions& options) {
    try {
        auto entry = std::make_unique<GuestEntry>(options);
        options.sessions = entry->sessions();
        options.consoles = entry->consoles();
        options.counts = entry->counts();
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

} // namespace

std::string default_kernel() {
    const std::string kernel = installed_kernel();
    if (kernel.empty()) {
        throw InputError(
            "run: there is no KERNEL, and Debian's package previrt-guest-kernel, which has one, is not "
            "installed");
    }
    return kernel;
}

void add_run_options(CLI::App& command, RunOptions& options) {
    command.add_option("KERNEL", options.kernel,
                       "A bzImage, or an ELF executable (that of the package previrt-guest-kernel)");
    command.add_option("--on", options.on, "The place where it runs; auto: the best that works here (auto)")
        ->check(CLI::IsMember(place_names()));
    command.add_option("--name", options.name,
                       "Its name for exec, list, stop, cp and console (the number of this process)");
    command.add_option("--initrd", options.initrd, "Its initial RAM disk");
    command.add_option("--append", options.append, "Its command line, behind console=ttyS0 panic=-1");
    command
        .add_option(
            "--memory", options.memory,
            "Its RAM (256M); docs/process.md says how much memory a guest in a process takes beside it")
        ->transform(CLI::AsSizeValue(false));
    command
        .add_option("--cpus", options.cpus, "Its processors, up to 64; on bare metal as many as QEMU has (1)")
        ->check(CLI::Range(1, 64));
    command.add_option("--net", options.net,
                       "user[,host-loopback][,tcp=HOSTPORT:GUESTPORT][,mtu=BYTES], tap=NAME, switch=SOCKET, "
                       "interface=NAME, each with "
                       "[,mac=ADDRESS], or none (none)");
    command
        .add_option(
            "--disk", options.disks,
            "FILE[,ro][,snapshot][,cache=unsafe][,format=FORMAT][,backing=FILE[,backing-format=FORMAT]]: a "
            "disk with the bytes of a file or block device, or an image (raw, qcow2, vmdk, vdi, vpc, vhdx); "
            "several times for several disks (docs/disks.md)")
        ->allow_extra_args(false);
    command.add_option("--root", options.root,
                       "A folder that is the guest's root file system; what the guest writes stays in its "
                       "memory (docs/folders.md)");
    command.add_flag("--rw", options.root_is_writable, "The guest writes to the folder of --root itself");
    command
        .add_option("--share", options.shares,
                    "DIR[:TAG][,ro]: a folder for the guest, which mounts it by its tag; several times for "
                    "several folders")
        ->allow_extra_args(false);
    command
        .add_option("--share-socket", options.share_sockets,
                    "SOCKET:TAG: the same, of a server of vhost-user that listens there")
        ->allow_extra_args(false);
    command
        .add_option("--port", options.ports,
                    "IN:OUT:NAME: a port of a virtio console, whose bytes come from the open descriptor "
                    "number IN and go to number OUT, each or none; IN:OUT: the console itself "
                    "(docs/ports.md)")
        ->allow_extra_args(false);
    command.add_option("--stats", options.stats, "Write the VMM's counters to this file");
    command.add_flag(
        "--isolate", options.isolate,
        "In a process and under KVM, protect the guest's kernel from its programs (on Xen that is always "
        "so)");
    command.add_flag("--require-isolation", options.require_isolation,
                     "In a process and under KVM, refuse to run (exit 2) if a layer between guest and host "
                     "is missing; without this option a warning names the missing layers");
    command.add_flag(
        "!--no-rewrite", options.rewrite,
        "Under KVM with a processor that virtualizes, leave the kernel's instructions unchanged, "
        "to compare with the in-place VMM");
    command.add_flag(
        "!--no-syscall-rewrite", options.rewrite_system_calls,
        "In a process and under KVM, leave the code of the guest's programs unchanged: each of their system "
        "calls then passes through the host");
    command.add_flag(
        "--quiet", options.quiet,
        "Print neither the kernel and its place at the start, nor the warning that the guest's programs can "
        "reach their kernel");
    command.add_flag(
        "--strict", options.strict,
        "End the guest at an access to a port or memory that no device claims (else it reads all ones)");
    command.add_flag("--verbose", options.verbose,
                     "Show the messages and counts of the hypervisor on standard error");
    command
        .add_option("--timeout", options.timeout, "Seconds after which the guest is ended, with status 124")
        ->check(CLI::PositiveNumber);
    command
        .add_option("--env", options.environment,
                    "A variable of the command's environment: NAME=VALUE, or NAME for this one's value")
        ->allow_extra_args(false);
    command.add_option("COMMAND", options.command,
                       "Behind --: a command and its arguments, which the guest runs instead of its init");
}

int run_guest_of_user(RunOptions& options, const std::vector<std::string>& guests_command) {
    options.is_own_process = true;
    options.command.insert(options.command.end(), guests_command.begin(), guests_command.end());
    const Supervision of_command{.signals = command_signals, .failed = command_failed};
    try {
        if (options.kernel.empty()) {
            options.kernel = default_kernel();
        }
        const std::unique_ptr<GuestEntry> entry = enter_guest(options);
        return run_supervised([&] { return run_guest_of_command(options); },
                              options.command.empty() ? console_supervision : of_command);
    } catch (const InputError& error) {
        std::cerr << "previrt: " << error.what() << '\n';
        return options.command.empty() ? bad_input : int{command_failed};
    }
}

void add_run(CLI::App& app, Action& action, const std::vector<std::string>& guests_command) {
    auto* const command = app.add_subcommand(
        "run", "Run a kernel (exit 0: it powered off or rebooted, 1: it failed, 124: it took too long), or a "
               "command in its guest (exit: the command's; 125: previrt failed, 126, 127: the command cannot "
               "be executed, is not there)");
    const auto options = std::make_shared<RunOptions>();
    add_run_options(*command, *options);
    command->callback([&action, options, guests_command] {
        action = [options, guests_command] { return run_guest_of_user(*options, guests_command); };
    });
}

} // namespace previrt
