// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/channel/start_message.hpp"

#include "host/input_error.hpp"
#include "monitor/channel/guest_process.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace previrt {

namespace {

constexpr std::array of_a_login = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                   "HOME=/root", "USER=root", "LOGNAME=root", "SHELL=/bin/sh"};

bool is_kept(std::string_view variable) {
    constexpr std::array<std::string_view, 5> names = {"TERM=", "COLORTERM=", "LANG=", "LC_", "TZ="};
    return std::ranges::any_of(names, [&](std::string_view name) { return variable.starts_with(name); });
}

std::string_view name_of(std::string_view variable) {
    return variable.substr(0, variable.find('='));
}

void set(std::vector<std::string>& environment, const std::string& variable) {
    std::erase_if(environment, [&](const std::string& other) { return name_of(other) == name_of(variable); });
    environment.push_back(variable);
}

// As of `env`: NAME=VALUE, or the NAME of a variable of this process.
void add_chosen(std::vector<std::string>& environment, const std::string& choice) {
    if (choice.find('=') != std::string::npos) {
        set(environment, choice);
    } else if (const char* const value = std::getenv(choice.c_str())) { // NOLINT(concurrency-mt-unsafe)
        set(environment, choice + '=' + value);
    }
}

std::vector<std::string> make_environment(const RunOptions& options) {
    std::vector<std::string> environment(of_a_login.begin(), of_a_login.end());
    for (char** variable = environ; *variable != nullptr; ++variable) {
        if (is_kept(*variable)) {
            set(environment, *variable);
        }
    }
    for (const std::string& choice : options.environment) {
        add_chosen(environment, choice);
    }
    return environment;
}

std::string working_directory() {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::current_path(error);
    return error ? "/" : path.string();
}

GuestProcess process_of_user(const RunOptions& options) {
    GuestProcess process;
    process.directory = working_directory();
    process.arguments = options.command;
    process.environment = make_environment(options);
    return process;
}

} // namespace

std::string make_start_message(const RunOptions& options, std::uint32_t terminals,
                               const agent::Window& window) {
    const GuestProcess process = options.process != nullptr ? *options.process : process_of_user(options);
    const agent::Start start{.terminals = terminals,
                             .arguments = static_cast<std::uint32_t>(process.arguments.size()),
                             .variables = static_cast<std::uint32_t>(process.environment.size()),
                             .window = window,
                             .namespaces = process.namespaces,
                             .calls = static_cast<std::uint32_t>(process.calls.size()),
                             .data_bytes = static_cast<std::uint32_t>(process.data.size())};
    std::string message = make_message(agent::Message::start, start);
    const auto add = [&](const std::string& text) { message.append(text.c_str(), text.size() + 1); };
    message.append(reinterpret_cast<const char*>(process.calls.data()),
                   process.calls.size() * sizeof(agent::SystemCall));
    message += process.data;
    add(process.directory);
    std::ranges::for_each(process.arguments, add);
    std::ranges::for_each(process.environment, add);
    const std::size_t bytes = message.size() - sizeof(agent::MessageHeader);
    if (bytes > agent::most_start_bytes) {
        throw InputError("the command's arguments and its environment have " + std::to_string(bytes) +
                         " bytes, and may have " + std::to_string(agent::most_start_bytes));
    }
    const agent::MessageHeader header{.message = agent::Message::start,
                                      .bytes = static_cast<std::uint32_t>(bytes)};
    message.replace(0, sizeof header, reinterpret_cast<const char*>(&header), sizeof header);
    return message;
}

} // namespace previrt
