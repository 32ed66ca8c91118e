// SPDX-License-Identifier: BSD-2-Clause
#include "cli/profile.hpp"

#include "cli/run.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"
#include "monitor/profile/counts_json.hpp"
#include "monitor/profile/flame_graph.hpp"
#include "monitor/profile/profile.hpp"
#include "monitor/profile/report.hpp"
#include "monitor/profile/top.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace previrt {

namespace {

struct ProfileOptions {
    RunOptions run;
    std::string symbols;
    std::string by = "count";
    std::string text;
    std::string json;
    std::string folded;
    std::string svg;
    std::size_t most = 40;
};

// Before the run, which may take long.
SymbolFile symbols_of(const ProfileOptions& options) {
    for (const std::string& file : {options.text, options.json, options.folded, options.svg}) {
        if (!file.empty()) {
            check_writable(file);
        }
    }
    if (!options.symbols.empty()) {
        return read_symbol_file(options.symbols, options.run.kernel);
    }
    SymbolFile file = find_symbol_file(options.run.kernel);
    if (file.path.empty()) {
        std::cerr << "previrt: " << say_lack_of_symbols(options.run.kernel) << '\n';
    }
    return file;
}

void write_reports(const ProfileOptions& options, const Profile& profile, const std::string& symbols) {
    if (options.text.empty()) {
        std::cerr << '\n';
        print_profile(std::cerr, profile, options.most);
    } else {
        std::ostringstream text;
        print_profile(text, profile, options.most);
        write_text(options.text, text.str());
    }
    if (!options.json.empty()) {
        write_text(options.json, profile_to_json(profile, symbols).dump(1) + '\n');
    }
    if (!options.folded.empty()) {
        write_text(options.folded, folded_stacks(profile));
    }
    if (!options.svg.empty()) {
        const std::string what =
            profile.by == ProfileBy::cycles ? "cycles of the VMM" : "entries into the VMM";
        write_text(options.svg,
                   draw_flame_graph(
                       profile, what + ", " + std::filesystem::path(options.run.kernel).filename().string()));
    }
}

void report(const ProfileOptions& options, const SymbolFile& symbols) {
    const nlohmann::json stats = nlohmann::json::parse(read_text(options.run.stats), nullptr, false);
    if (!stats.is_object()) {
        throw InputError(options.run.stats + ": the VMM printed no counters");
    }
    const CountedInstructions counts = counts_of_json(stats);
    ProfileBy by = options.by == "cycles" ? ProfileBy::cycles : ProfileBy::count;
    if (by == ProfileBy::cycles && !counts.have_cycles) {
        std::cerr << "previrt: --by cycles: no VMM has counted cycles here; by count instead\n";
        by = ProfileBy::count;
    }
    write_reports(options, make_profile(counts, symbols, by), symbols.path);
}

int profile(ProfileOptions& options, const std::vector<std::string>& guests_command) {
    if (options.run.on == "bare") {
        throw InputError("profile: on bare metal no VMM counts anything; choose another --on");
    }
    if (options.run.kernel.empty()) {
        options.run.kernel = default_kernel();
    }
    const SymbolFile symbols = symbols_of(options);
    const TemporaryDirectory directory;
    if (options.run.stats.empty()) {
        options.run.stats = directory.path() + "/stats.json";
    } else {
        std::filesystem::remove(options.run.stats); // of another run
    }
    options.run.count_cycles = true;
    const int status = run_guest_of_user(options.run, guests_command);
    std::error_code error;
    if (std::filesystem::file_size(options.run.stats, error) == 0 || error) {
        std::cerr << "previrt: no profile: the guest ended without the VMM's counters\n";
        return status == 0 ? answer_is_no : status;
    }
    report(options, symbols);
    return status;
}

} // namespace

void add_profile(CLI::App& app, Action& action, const std::vector<std::string>& guests_command) {
    auto* const command = app.add_subcommand(
        "profile",
        "Run a guest as `run` does, and report its instructions for which the VMM worked, by cause, "
        "function and source line (exit: that of `run`)");
    const auto options = std::make_shared<ProfileOptions>();
    add_run_options(*command, options->run);
    command->add_option("--symbols", options->symbols,
                        "The kernel's vmlinux or System.map (one beside KERNEL, or in its directory build)");
    command->add_option("--by", options->by, "The order and the widths: count or cycles of the VMM (count)")
        ->check(CLI::IsMember({"count", "cycles"}));
    command->add_option("--top", options->most, "Rows of the table (40)");
    command->add_option("--text", options->text, "Write the table to this file, not to standard error");
    command->add_option("--json", options->json, "Write all rows to this file");
    command->add_option("--folded", options->folded,
                        "Write folded stacks to this file: CAUSE;FUNCTION;LINE VALUE");
    command->add_option("--svg", options->svg, "Draw a flame graph into this file");
    command->callback([&action, options, guests_command] {
        action = [options, guests_command] { return profile(*options, guests_command); };
    });
}

void add_top(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand(
        "top", "Watch the instructions of a running guest for which the VMM works: rates by cause, "
               "and the busiest instructions");
    const auto options = std::make_shared<TopOptions>();
    command->add_option("NAME", options->name, "The guest (previrt list)")->required();
    command->add_option("--interval", options->interval, "Seconds between two looks (1)")
        ->check(CLI::Range(0.1, 3600.0));
    command->add_option("--count", options->times, "How many looks (until the guest ends)");
    command->add_option("--top", options->rows, "Rows of instructions (20)");
    command->add_option(
        "--symbols", options->symbols,
        "The kernel's vmlinux or System.map (one beside the kernel, or in its directory build)");
    command->callback([&action, options] { action = [options] { return watch_instructions(*options); }; });
}

} // namespace previrt
