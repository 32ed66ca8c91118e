// SPDX-License-Identifier: BSD-2-Clause
// The command line: `previrt COMMAND ...`. Exit status: 0 done, 1 the answer is no, 2 bad arguments or files.
#include "toolchain/audit/audit.hpp"
#include "toolchain/audit/sites.hpp"
#include "toolchain/image/file.hpp"
#include "toolchain/image/input_error.hpp"
#include "toolchain/image/kernel_file.hpp"
#include "toolchain/image/site_table.hpp"

#include <CLI/CLI.hpp>
#include <exception>
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

int run_audit(const Options& options) {
    const KernelFile file = load_kernel_file(options.file);
    ExceptionList exceptions;
    if (!options.exceptions.empty()) {
        const std::vector<std::uint8_t> text = read_file(options.exceptions);
        exceptions = ExceptionList(options.exceptions, std::string(text.begin(), text.end()));
    }
    std::optional<KernelFile> symbols;
    if (!options.symbols.empty()) {
        symbols.emplace(load_kernel_file(options.symbols));
    }
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
                              "File of instructions that may stay unrecorded: PLACE KIND REASON, one a line");
    audit_command->add_option("--symbols", options.symbols, "Name places by this file's symbols (vmlinux)");

    CLI::App* const sites_command = app.add_subcommand("sites", "Print the records by kind");
    sites_command->add_option("FILE", options.file, "An .o, .ko, vmlinux or bzImage")->required();
    sites_command->add_flag("--json", options.json, "Print every record as JSON");

    CLI::App* const sort_command =
        app.add_subcommand("sort-sites", "Put the records of a linked file in order of address, in place");
    sort_command->add_option("FILE", options.file, "A linked ELF file (vmlinux)")->required();

    const std::string planned = "Planned: ";
    for (const auto& [name, purpose] : {std::pair("build-linux", "build a pre-virtualized Linux"),
                                        std::pair("run", "run a kernel on a hypervisor or bare"),
                                        std::pair("pack", "make the files a hypervisor boots"),
                                        std::pair("profile", "show where a guest spends its time"),
                                        std::pair("bench", "measure beside the peers"),
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
