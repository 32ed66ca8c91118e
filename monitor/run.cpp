// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/run.hpp"

#include "host/input_error.hpp"
#include "monitor/console/messages.hpp"
#include "toolchain/image/kernel_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <iostream>
#include <ranges>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

auto automatic_places() {
    return std::views::filter(all_places(), &Place::is_automatic);
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

struct ChosenPlace {
    const Place& place;
    PreparedRun run;
};

ChosenPlace prepare(const RunOptions& options, const Place& place) {
    check_place(options, place);
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
    for (const Place& place : automatic_places()) {
        try {
            place.probe();
            ChosenPlace chosen = prepare(options, place);
            for (const Refusal& refusal : refusals) {
                std::cerr << "previrt: not on " << refusal.places << ": " << refusal.reason << '\n';
            }
            return chosen;
        } catch (const InputError& error) {
            add_refusal(refusals, place, error.what());
        }
    }
    load_kernel_file(options.kernel); // if the kernel is bad, only that is the reason
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
    for (const Place& place : all_places()) {
        reports.push_back(probe(place));
    }
    return reports;
}

std::string automatic_place() {
    std::string name;
    for (const Place& place : automatic_places()) {
        name = place.name;
        if (probe(place).works) {
            break;
        }
    }
    return name; // if none works, the last one's run says what this machine lacks
}

namespace {

// Opened before there is a guest: a process that only runs this guest opens no file afterwards.
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
    options.chosen(place.name, place.has_commands && has_agent(options));
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

namespace {

// The streams are the command's.
void hide_console(RunOptions& options) {
    options.watch_console = false;
    options.console = [](std::string_view) {};
    if (options.verbose) {
        options.console = [](std::string_view text) { std::cerr << text << std::flush; };
    }
}

} // namespace

RunStatus run_guest_of_command(const RunOptions& options) {
    Messages messages;
    RunOptions command = options;
    command.messages = &messages;
    if (!options.command.empty()) {
        hide_console(command);
    }
    try {
        return run_guest(command);
    } catch (const InputError& error) {
        std::cerr << "previrt: " << error.what() << '\n';
        return options.command.empty() ? run_refused : command_failed;
    }
}

} // namespace previrt
