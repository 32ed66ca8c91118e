// SPDX-License-Identifier: BSD-2-Clause
// The command line: `previrt COMMAND ...`. Exit status: 0 done, 1 the answer is no, 2 bad arguments or files.
#include "bench/linux_padding.hpp"
#include "toolchain/audit/audit.hpp"
#include "toolchain/audit/sites.hpp"
#include "toolchain/image/file.hpp"
#include "toolchain/image/input_error.hpp"
#include "toolchain/image/kernel_file.hpp"
#include "toolchain/image/site_table.hpp"
#include "toolchain/linux/build_linux.hpp"
#include "toolchain/run/run.hpp"

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

namespace previrt {

namespace {

constexpr int answer_is_no = 1;
constexpr int bad_input = 2;

struct Options {
    std::string file;
    std::string exceptions;
    std::string symbols;
    bool json = false;
};

// What build-linux leaves in the directory of a kernel; empty where it is not.
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
        throw InputError(path + ": not the kernel that is in " + file.path + ", its code differs");
    }
    return symbols;
}

int run_audit(const Options& options) {
    const KernelFile file = load_kernel_file(options.file);
    const std::string list =
        options.exceptions.empty() ? beside(options.file, "exceptions") : options.exceptions;
    ExceptionList exceptions;
    if (!list.empty()) {
        const std::vector<std::uint8_t> text = read_file(list);
        exceptions = ExceptionList(list, std::string(text.begin(), text.end()));
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

int run_sites(const Options& options) {
    const KernelFile file = load_kernel_file(options.file);
    if (options.json) {
        print_sites_json(std::cout, file);
    } else {
        print_sites_text(std::cout, file);
    }
    return 0;
}

int run_sort_sites(const Options& options) {
    write_file(options.file, sort_site_table(load_kernel_file(options.file)));
    return 0;
}

int refuse(const std::string& command) {
    std::cerr << "previrt " << command << ": not built yet; `previrt --help` lists what works\n";
    return bad_input;
}

int main(int argc, char** argv) {
    CLI::App app("Pre-virtualized kernels: one binary for bare metal and for every hypervisor.", "previrt");
    app.require_subcommand(1);
    app.set_help_all_flag("--help-all", "Help for every command");
    Options options;

    CLI::App* const audit_command =
        app.add_subcommand("audit", "Prove that no sensitive instruction is unrecorded (exit 1: one is)");
    audit_command->add_option("FILE", options.file, "An .o, .ko, vmlinux or bzImage")->required();
    audit_command->add_flag("--json", options.json, "Print the report as JSON");
    audit_command->add_option("--exceptions", options.exceptions,
                              "File of instructions that may stay unrecorded: PLACE KIND REASON, one a line "
                              "(`exceptions` beside FILE, if there is one)");
    audit_command->add_option("--symbols", options.symbols,
                              "Take the symbols of this file, unstripped (`vmlinux` beside a bzImage)");

    CLI::App* const sites_command = app.add_subcommand("sites", "Print the records by kind");
    sites_command->add_option("FILE", options.file, "An .o, .ko, vmlinux or bzImage")->required();
    sites_command->add_flag("--json", options.json, "Print every record as JSON");

    CLI::App* const sort_command =
        app.add_subcommand("sort-sites", "Put the records of a linked file in order of address, in place");
    sort_command->add_option("FILE", options.file, "A linked ELF file (vmlinux)")->required();

    BuildLinuxOptions build;
    CLI::App* const build_command = app.add_subcommand(
        "build-linux", "Build a pre-virtualized Linux (exit 1: built, but the audit found gaps)");
    build_command
        ->add_option("--output", build.output, "Directory for bzImage, vmlinux, modules/, previrt.json")
        ->required();
    CLI::Option* const source =
        build_command->add_option("--source", build.source, "A kernel source of your own; it is not changed");
    build_command
        ->add_option("--version", build.version,
                     "Debian's linux-source-VERSION, downloaded on first use (6.1)")
        ->excludes(source);
    build_command->add_option("--config", build.configuration,
                              "small, rich, or a file of CONFIG_ lines; what it leaves out is off (small)");
    build_command->add_option("--compiler", build.compiler, "gcc or clang (gcc)")
        ->check(CLI::IsMember({"gcc", "clang"}));
    build_command->add_flag("--plain", build.plain,
                            "The same kernel without macros and patches, to compare with");
    build_command->add_option("--jobs", build.jobs, "Compilers at once (as many as processors)");

    RunOptions guest;
    CLI::App* const run_command = app.add_subcommand(
        "run", "Run a kernel (exit 0: it powered off or rebooted, 1: it failed, 124: it took too long)");
    run_command->add_option("KERNEL", guest.kernel, "A bzImage")->required();
    run_command
        ->add_option("--on", guest.on, "auto, process, kvm, xen, bare (auto: the best that works here)")
        ->check(CLI::IsMember({"auto", "process", "kvm", "xen", "xen-domu", "bare"}));
    run_command->add_option("--initrd", guest.initrd, "Its initial RAM disk");
    run_command->add_option("--append", guest.append, "Its command line, behind console=ttyS0 panic=-1");
    run_command->add_option("--memory", guest.memory, "Its RAM (256M)")->transform(CLI::AsSizeValue(false));
    run_command->add_option("--cpus", guest.cpus, "Its processors (1)")->check(CLI::Range(1, 64));
    run_command->add_option("--net", guest.net, "user, tap=NAME or none (none)");
    run_command->add_option("--timeout", guest.timeout, "Seconds until it is ended, with status 124")
        ->check(CLI::PositiveNumber);

    LinuxPaddingOptions padding;
    CLI::App* const bench_command = app.add_subcommand("bench", "Measure beside the peers");
    bench_command->require_subcommand(1);
    CLI::App* const padding_command = bench_command->add_subcommand(
        "padding", "What padding costs Linux on bare metal: instructions an operation, plain and padded");
    padding_command->add_option("--version", padding.version, "As of build-linux (6.1)");
    padding_command->add_option("--config", padding.configuration, "small or rich (small)")
        ->check(CLI::IsMember({"small", "rich"}));
    padding_command->add_option("--compiler", padding.compiler, "gcc or clang (gcc)")
        ->check(CLI::IsMember({"gcc", "clang"}));
    padding_command->add_option("--json", padding.json, "Write the figures to this file too");

    const std::string planned = "Planned: ";
    for (const auto& [name, purpose] : {std::pair("pack", "make the files a hypervisor boots"),
                                        std::pair("profile", "show where a guest spends its time"),
                                        std::pair("doctor", "say what works on this machine")}) {
        app.add_subcommand(name, planned + purpose)->allow_extras();
    }

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : bad_input;
    }
    if (audit_command->parsed()) {
        return run_audit(options);
    }
    if (sites_command->parsed()) {
        return run_sites(options);
    }
    if (sort_command->parsed()) {
        return run_sort_sites(options);
    }
    if (build_command->parsed()) {
        return build_linux(build) ? 0 : answer_is_no;
    }
    if (run_command->parsed()) {
        return run_guest(guest);
    }
    if (padding_command->parsed()) {
        bench_linux_padding(padding);
        return 0;
    }
    return refuse(app.get_subcommands().front()->get_name());
}

} // namespace

} // namespace previrt

int main(int argc, char** argv) {
    try {
        return previrt::main(argc, argv);
    } catch (const previrt::InputError& error) {
        std::cerr << "previrt: " << error.what() << '\n';
    } catch (const std::exception& error) {
        std::cerr << "previrt: internal error: " << error.what() << '\n';
    }
    return previrt::bad_input;
}
