// SPDX-License-Identifier: BSD-2-Clause
#include "cli/running.hpp"

#include "host/input_error.hpp"
#include "monitor/options.hpp"
#include "monitor/running/console.hpp"
#include "monitor/running/copy.hpp"
#include "monitor/running/registry.hpp"
#include "monitor/running/session.hpp"
#include "monitor/running/stop.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace previrt {

namespace {

void add_exec(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand(
        "exec",
        "Run a further command in a running guest (exit: the command's; 125: previrt failed, 126, 127: "
        "the command cannot be executed, is not there)");
    const auto options = std::make_shared<SessionOptions>();
    command->add_option("NAME", options->name, "The guest (previrt list)")->required();
    command
        ->add_option("--env", options->environment,
                     "A variable of the command's environment: NAME=VALUE, or NAME for this one's value")
        ->allow_extra_args(false);
    command->add_option("COMMAND", options->command, "Behind --: a command and its arguments")->required();
    command->callback([&action, options] {
        action = [options] {
            try {
                return run_in_guest(*options);
            } catch (const InputError& error) {
                std::cerr << "previrt: " << error.what() << '\n';
                return int{command_failed};
            }
        };
    });
}

std::string time_since(std::int64_t started) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count() - started;
    struct Unit {
        std::int64_t seconds;
        const char* name;
    };
    constexpr std::int64_t minute = 60;
    constexpr std::int64_t hour = 60 * minute;
    constexpr std::int64_t day = 24 * hour;
    constexpr std::array units = {Unit{.seconds = day, .name = "d"}, Unit{.seconds = hour, .name = "h"},
                                  Unit{.seconds = minute, .name = "min"}};
    for (const Unit& unit : units) {
        if (seconds >= 2 * unit.seconds) {
            return std::to_string(seconds / unit.seconds) + ' ' + unit.name;
        }
    }
    return std::to_string(std::max<std::int64_t>(seconds, 0)) + " s";
}

// The command is the guest's, and may hold anything.
std::string printable(std::string text) {
    constexpr char first = 0x20;
    constexpr char last = 0x7e;
    std::ranges::replace_if(text, [](char character) { return character < first || character > last; }, '?');
    return text;
}

std::string memory_of(std::uint64_t bytes) {
    constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;
    return std::to_string(bytes / mebibyte) + "M";
}

void print(const std::vector<RunningGuest>& guests) {
    using Row = std::array<std::string, 6>;
    std::vector<Row> rows = {{"NAME", "PLACE", "PROCESS", "MEMORY", "FOR", "COMMAND"}};
    for (const RunningGuest& guest : guests) {
        rows.push_back({guest.name, guest.place.empty() ? "(starts)" : guest.place,
                        std::to_string(guest.process), memory_of(guest.memory), time_since(guest.started),
                        printable(guest.command.empty() ? guest.kernel : guest.command)});
    }
    std::array<std::size_t, 6> widths{};
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths.at(i) = std::max(widths.at(i), row.at(i).size());
        }
    }
    for (const Row& row : rows) {
        for (std::size_t i = 0; i + 1 < row.size(); ++i) {
            std::cout << std::left << std::setw(static_cast<int>(widths.at(i) + 2)) << row.at(i);
        }
        std::cout << row.back() << '\n';
    }
}

void print_json(const std::vector<RunningGuest>& guests) {
    nlohmann::json list = nlohmann::json::array();
    for (const RunningGuest& guest : guests) {
        list.push_back({{"name", guest.name},
                        {"place", guest.place},
                        {"process", guest.process},
                        {"memory", guest.memory},
                        {"started", guest.started},
                        {"kernel", guest.kernel},
                        {"command", guest.command},
                        {"takes_commands", guest.takes_commands}});
    }
    std::cout << list.dump(2) << '\n';
}

void add_list(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand("list", "List this user's running guests");
    const auto as_json = std::make_shared<bool>(false);
    command->add_flag("--json", *as_json, "Print it as JSON");
    command->callback([&action, as_json] {
        action = [as_json] {
            const std::vector<RunningGuest> guests = running_guests();
            if (*as_json) {
                print_json(guests);
            } else {
                print(guests);
            }
            return 0;
        };
    });
}

void add_stop(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand("stop", "End a guest: by SIGTERM for its command, or by its own "
                                                     "program poweroff (exit 1: it had to be killed)");
    struct Options {
        std::string name;
        double seconds = 10;
    };
    const auto options = std::make_shared<Options>();
    command->add_option("NAME", options->name, "The guest (previrt list)")->required();
    command->add_option("--timeout", options->seconds, "Seconds after which it is killed (10)")
        ->check(CLI::NonNegativeNumber);
    command->callback(
        [&action, options] { action = [options] { return stop_guest(options->name, options->seconds); }; });
}

void add_copy(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand("cp", "Copy a file or a directory into a running guest or out "
                                                   "of one, which must have tar (exit 1: it failed)");
    struct Options {
        std::string from;
        std::string to;
    };
    const auto options = std::make_shared<Options>();
    command->add_option("FROM", options->from, "A path, or NAME:PATH in a guest")->required();
    command->add_option("TO", options->to, "The same for the copy, or a directory for it")->required();
    command->callback(
        [&action, options] { action = [options] { return copy_of_guest(options->from, options->to); }; });
}

void add_console(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand(
        "console", "Connect to the console of a running guest, until the guest ends or Ctrl-] is typed");
    const auto name = std::make_shared<std::string>();
    command->add_option("NAME", *name, "The guest (previrt list)")->required();
    command->callback([&action, name] { action = [name] { return show_console(*name); }; });
}

} // namespace

void add_running_guests(CLI::App& app, Action& action) {
    add_exec(app, action);
    add_list(app, action);
    add_stop(app, action);
    add_copy(app, action);
    add_console(app, action);
}

} // namespace previrt
