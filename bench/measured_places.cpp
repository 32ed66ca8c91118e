// SPDX-License-Identifier: BSD-2-Clause
#include "bench/measured_places.hpp"

#include "bench/peers/gvisor.hpp"
#include "bench/peers/user_mode_linux.hpp"
#include "guest/userland/initrd.hpp"
#include "host/input_error.hpp"
#include "host/tree.hpp"

#include <algorithm>
#include <iterator>

namespace previrt {

namespace {

MeasuredPlace native_place() {
    return {.measure =
                [](const Settings& settings) {
                    return Program{.arguments = {PREVIRT_TIMES}, .directory = {}, .environment = settings};
                },
            .launch = {}};
}

MeasuredPlace previrt_place(const MeasuredFiles& files, const std::vector<std::string>& options) {
    return {.measure =
                [files, options](const Settings& settings) {
                    return previrt_run(files.kernel, files.measuring_initrd, options, settings);
                },
            .launch = [files,
                       options] { return previrt_run(files.kernel, files.launching_initrd, options, {}); }};
}

MeasuredPlace user_mode_linux_place(const MeasuredFiles& files) {
    const std::string linux = find_user_mode_linux();
    return {.measure =
                [files, linux](const Settings& settings) {
                    return user_mode_linux(linux, files.measuring_initrd, words_for(settings),
                                           files.directory);
                },
            .launch =
                [files, linux] {
                    return user_mode_linux(linux, files.launching_initrd, words_for({}), files.directory);
                }};
}

MeasuredPlace gvisor_place(const MeasuredFiles& files) {
    const std::string runsc = find_gvisor();
    return {.measure =
                [files, runsc](const Settings& settings) {
                    return gvisor(runsc, PREVIRT_TIMES, settings, files.directory);
                },
            .launch = [files, runsc] { return gvisor(runsc, PREVIRT_LAUNCH, {}, files.directory); }};
}

} // namespace

std::vector<std::string> words_for(const Settings& settings) {
    std::vector<std::string> words = {"quiet"};
    for (const auto& [name, value] : settings) {
        words.push_back(name + "=" + value);
    }
    return words;
}

std::string command_line(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) {
        line += (line.empty() ? "" : " ") + word;
    }
    return line;
}

Program previrt_run(const std::string& kernel, const std::string& initrd,
                    const std::vector<std::string>& options, const Settings& settings) {
    Program program{.arguments = {program_beside_this("previrt"), "run", kernel, "--initrd", initrd,
                                  "--append", command_line(words_for(settings))},
                    .directory = {},
                    .environment = {}};
    program.arguments.insert(program.arguments.end(), options.begin(), options.end());
    return program;
}

std::string listed(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) {
        list += name + ",";
    }
    return list;
}

Program command_on_root(const std::string& kernel, const std::vector<std::string>& options,
                        const Settings& settings, const std::string& script) {
    Program program{.arguments = {program_beside_this("previrt"), "run", kernel, "--quiet", "--root", "/"},
                    .directory = {},
                    .environment = {}};
    std::vector<std::string>& arguments = program.arguments;
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--", "env"});
    for (const auto& [name, value] : settings) {
        arguments.push_back(name + "=" + value);
    }
    arguments.push_back(script);
    return program;
}

MeasuredFiles make_measured_files(const std::string& kernel, const std::string& directory) {
    return {.kernel = kernel,
            .measuring_initrd = make_initrd("times", {{"/run-me", PREVIRT_TIMES}}),
            .launching_initrd = make_initrd("launch", {{"/init", PREVIRT_LAUNCH}}),
            .directory = directory};
}

std::vector<std::string> choose_columns(const std::vector<std::string>& all,
                                        const std::vector<std::string>& named) {
    std::string known;
    for (const std::string& name : all) {
        known += (known.empty() ? "" : ", ") + name;
    }
    for (const std::string& name : named) {
        if (std::ranges::find(all, name) == all.end()) {
            throw InputError("--columns: '" + name + "' is none of " + known);
        }
    }
    std::vector<std::string> chosen;
    std::ranges::copy_if(all, std::back_inserter(chosen), [&](const std::string& name) {
        return named.empty() || name == all.front() || std::ranges::find(named, name) != named.end();
    });
    return chosen;
}

Column native_column() {
    return {.name = "native", .is_peer = false, .find = [](const MeasuredFiles&) { return native_place(); }};
}

Column previrt_column(const std::string& name, const std::vector<std::string>& options) {
    return {.name = name, .is_peer = false, .find = [options](const MeasuredFiles& files) {
                return previrt_place(files, options);
            }};
}

Column user_mode_linux_column() {
    return {.name = "UML", .is_peer = true, .find = user_mode_linux_place};
}

Column gvisor_column() {
    return {.name = "gVisor", .is_peer = true, .find = gvisor_place};
}

Column peer(Column column) {
    column.is_peer = true;
    return column;
}

} // namespace previrt
