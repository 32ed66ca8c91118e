// SPDX-License-Identifier: BSD-2-Clause
// The command line: `previrt COMMAND ...`. Exit status: 0 done, 1 the answer is no, 2 bad arguments or files.
#include "cli/command_line.hpp"
#include "cli/doctor.hpp"
#include "cli/profile.hpp"
#include "cli/run.hpp"
#include "cli/running.hpp"
#include "host/ending_signals.hpp"
#include "host/input_error.hpp"
#include "host/tree.hpp"
#include "monitor/network/switch/command.hpp"
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

// The arguments behind the first "--" of `run` or `profile`: then a missing KERNEL is not the command's first
// word.
std::vector<std::string> take_command(int& argc, char** argv) {
    char** const end = argv + argc;
    char** const found =
        std::find_if(argv, end, [](const char* text) { return std::string_view(text) == "--"; });
    const std::string_view name = argc < 2 ? "" : argv[1];
    if ((name != "run" && name != "profile") || found == end) {
        return {};
    }
    argc = static_cast<int>(found - argv);
    return {found + 1, end};
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
    previrt::add_profile(app, action, command);
    previrt::add_running_guests(app, action);
    previrt::add_top(app, action);
    previrt::add_switch(app, action);
    previrt::add_doctor(app, action);
    return previrt::run_command_line(app, argc, argv, action);
}
