// SPDX-License-Identifier: BSD-2-Clause
// previrt-prepare: the commands of previrt that make kernels and look at them. They alone need LLVM.
#include "cli/command_line.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "toolchain/audit/audit.hpp"
#include "toolchain/audit/sites.hpp"
#include "toolchain/image/kernel_file.hpp"
#include "toolchain/image/site_table.hpp"
#include "toolchain/linux/build_linux.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

namespace previrt {

namespace {

struct AuditOptions {
    std::string file;
    std::string exceptions;
    std::string symbols;
    bool json = false;
};

// The path of a file that build-linux put beside this one; empty if it is not there.
std::string beside(const std::string& file, const std::string& name) {
    const auto path = std::filesystem::path(file).replace_filename(name);
    return std::filesystem::exists(path) ? path.string() : "";
}

std::optional<KernelFile> find_symbols(const KernelFile& file, const std::string& given) {
    const std::string path = given.empty() && file.packed ? beside(file.path, "vmlinux") : given;
    if (path.empty()) {
        return std::nullopt;
    }
    KernelFile symbols = load_kernel_file(path);
    if (!have_same_code(file.elf, symbols.elf)) {
        throw InputError(path + ": its code differs from that of the kernel in " + file.path);
    }
    return symbols;
}

int run_audit(const AuditOptions& options) {
    const KernelFile file = load_kernel_file(options.file);
    const std::string list =
        options.exceptions.empty() ? beside(options.file, "exceptions") : options.exceptions;
    ExceptionList exceptions;
    if (!list.empty()) {
        exceptions = ExceptionList(list, read_text(list));
    }
    const std::optional<KernelFile> symbols = find_symbols(file, options.symbols);
    const AuditReport report = audit(file, exceptions, symbols ? &symbols->elf : nullptr);
    if (options.json) {
        print_json(std::cout, report);
    } else {
        print_text(std::cout, report, exceptions);
    }
    return report.complete() ? 0 : answer_is_no;
}

void add_audit(CLI::App& app, Action& action) {
    auto* const command =
        app.add_subcommand("audit", "Prove that no sensitive instruction is unrecorded (exit 1: one is)");
    const auto options = std::make_shared<AuditOptions>();
    command->add_option("FILE", options->file, "An .o, .ko, vmlinux or bzImage")->required();
    command->add_flag("--json", options->json, "Print the report as JSON");
    command->add_option(
        "--exceptions", options->exceptions,
        "File of instructions that may stay unrecorded, PLACE KIND REASON, and of bytes that are data, "
        "PLACE data REASON, one a line (`exceptions` beside FILE, if there is one)");
    command->add_option("--symbols", options->symbols,
                        "An unstripped file with the symbols of FILE (`vmlinux` beside a bzImage)");
    command->callback([&action, options] { action = [options] { return run_audit(*options); }; });
}

void add_sites(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand("sites", "Print the records by kind");
    const auto options = std::make_shared<AuditOptions>();
    command->add_option("FILE", options->file, "An .o, .ko, vmlinux or bzImage")->required();
    command->add_flag("--json", options->json, "Print every record as JSON");
    command->callback([&action, options] {
        action = [options] {
            const KernelFile file = load_kernel_file(options->file);
            (options->json ? print_sites_json : print_sites_text)(std::cout, file);
            return 0;
        };
    });
}

void add_sort_sites(CLI::App& app, Action& action) {
    auto* const command =
        app.add_subcommand("sort-sites", "Sort the records of a linked file by address, in place");
    const auto file = std::make_shared<std::string>();
    command->add_option("FILE", *file, "A linked ELF file (vmlinux)")->required();
    command->callback([&action, file] {
        action = [file] {
            write_file(*file, sort_site_table(load_kernel_file(*file)));
            return 0;
        };
    });
}

void add_build_linux(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand(
        "build-linux", "Build a pre-virtualized Linux (exit 1: built, but the audit found gaps)");
    const auto options = std::make_shared<BuildLinuxOptions>();
    command->add_option("--output", options->output, "Directory for bzImage, vmlinux, modules/, previrt.json")
        ->required();
    auto* const source =
        command->add_option("--source", options->source, "A kernel source of your own; it is not changed");
    command
        ->add_option("--version", options->version,
                     "Debian's linux-source-VERSION, downloaded on first use (6.1)")
        ->check(CLI::IsMember({"6.1", "6.12"}))
        ->excludes(source);
    command->add_option(
        "--config", options->configuration,
        "small, rich, container, kunit, or a file of CONFIG_ lines; options that it does not name are "
        "off (small). With +xen behind its name, each of the first three has Linux's own port to "
        "Xen; with --plain");
    command->add_option("--compiler", options->compiler, "gcc or clang (gcc)")
        ->check(CLI::IsMember({"gcc", "clang"}));
    auto* const without = command->add_option(
        "--without", options->without, "A patch of linux-patches/optional to leave out, as ns83820-repairs");
    command
        ->add_flag("--plain", options->plain, "The same kernel without macros and patches, to compare with")
        ->excludes(without);
    command->add_option("--jobs", options->jobs, "Compilers at once (as many as processors)");
    command->callback(
        [&action, options] { action = [options] { return build_linux(*options) ? 0 : answer_is_no; }; });
}

} // namespace

} // namespace previrt

int main(int argc, char** argv) {
    CLI::App app("Makes and examines pre-virtualized kernels; `previrt` calls it.", "previrt");
    app.require_subcommand(1);
    previrt::Action action;
    previrt::add_audit(app, action);
    previrt::add_sites(app, action);
    previrt::add_sort_sites(app, action);
    previrt::add_build_linux(app, action);
    return previrt::run_command_line(app, argc, argv, action);
}
