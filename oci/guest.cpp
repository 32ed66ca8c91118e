// SPDX-License-Identifier: BSD-2-Clause
#include "oci/guest.hpp"

#include "host/input_error.hpp"
#include "host/tree.hpp"
#include "monitor/channel/command_signals.hpp"
#include "monitor/run.hpp"
#include "monitor/running/session.hpp"
#include "monitor/supervisor.hpp"
#include "oci/configuration.hpp"
#include "oci/guest_files.hpp"
#include "oci/guest_identity.hpp"
#include "oci/log.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <linux/sched.h>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace previrt::oci {

namespace {

constexpr int passed_socket = 5;
constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr std::uint64_t usual_memory = 512 * mib;

void add_program(GuestProcess& made, const nlohmann::json& process) {
    made.directory = ""; // a call has chosen it
    made.arguments = process.at("args").get<std::vector<std::string>>();
    made.environment = process.value("env", std::vector<std::string>());
    made.has_terminal = process.value("terminal", false);
    const bool has_home = std::ranges::any_of(
        made.environment, [](const std::string& variable) { return variable.starts_with("HOME="); });
    if (!has_home) {
        made.environment.emplace_back("HOME=/");
    }
}

// Beside the guest's RAM there are the monitor, the folders' server and the page tables of processes.
std::uint64_t memory_of(const nlohmann::json& resources, std::uint64_t usual) {
    constexpr std::uint64_t overhead = 48 * mib;
    constexpr std::uint64_t part = 16;
    constexpr std::uint64_t least = 64 * mib;
    const std::int64_t limit =
        resources.value("memory", nlohmann::json::object()).value("limit", std::int64_t{0});
    if (limit <= 0) {
        return usual;
    }
    const auto given = static_cast<std::uint64_t>(limit);
    if (given < least + overhead) {
        throw InputError("config.json: linux.resources.memory.limit: a guest needs " +
                         std::to_string((least + overhead) / mib) + " MiB at least, and the limit is " +
                         std::to_string(given / mib) + " MiB");
    }
    constexpr std::uint64_t most = std::uint64_t{4064} * mib; // below the network card's registers
    return std::min((given - overhead - given / part) / mib * mib, most);
}

unsigned count_listed(std::string_view list) {
    unsigned count = 0;
    while (!list.empty()) {
        const std::string_view part = list.substr(0, list.find(','));
        list.remove_prefix(std::min(part.size() + 1, list.size()));
        const std::size_t dash = part.find('-');
        const std::string first(part.substr(0, dash));
        const std::string last(dash == std::string_view::npos ? part : part.substr(dash + 1));
        try {
            const unsigned long from = std::stoul(first);
            const unsigned long to = std::stoul(last);
            count += to >= from ? static_cast<unsigned>(to - from) + 1 : 0;
        } catch (const std::logic_error&) {
            throw InputError("config.json: linux.resources.cpu.cpus: '" + std::string(part) +
                             "' is no list of processors");
        }
    }
    return count;
}

unsigned processors_of(const nlohmann::json& resources, unsigned usual) {
    constexpr unsigned most = 64;
    const nlohmann::json cpu = resources.value("cpu", nlohmann::json::object());
    unsigned count = usual;
    const std::int64_t quota = cpu.value("quota", std::int64_t{0});
    const std::uint64_t period = cpu.value("period", std::uint64_t{100000});
    if (quota > 0 && period > 0) {
        const std::uint64_t whole = (static_cast<std::uint64_t>(quota) + period - 1) / period;
        count = static_cast<unsigned>(std::min<std::uint64_t>(whole, usual));
    }
    const std::string list = cpu.value("cpus", "");
    if (!list.empty()) {
        count = std::min(count, count_listed(list));
    }
    return std::clamp(count, 1U, most);
}

} // namespace

GuestProcess make_container_process(const nlohmann::json& config,
                                    const std::optional<NamespaceNetwork>& network) {
    GuestProcess made;
    made.namespaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC;
    CallProgram program(made);
    if (network) {
        configure_network(program, *network);
    }
    enter_container_root(program, config);
    take_identity(program, config.at("process"), config);
    add_program(made, config.at("process"));
    return made;
}

GuestProcess make_further_process(const nlohmann::json& process, const nlohmann::json& config) {
    GuestProcess made;
    made.namespaces = agent::join_namespaces;
    CallProgram program(made);
    take_identity(program, process, config);
    add_program(made, process);
    return made;
}

RunOptions make_run_options(const nlohmann::json& options, const nlohmann::json& config) {
    const nlohmann::json resources =
        config.value("linux", nlohmann::json::object()).value("resources", nlohmann::json::object());
    const unsigned here = std::max(1U, std::thread::hardware_concurrency());
    RunOptions made;
    made.on = "process";
    made.kernel = options.value("kernel", "");
    made.kernel = made.kernel.empty() ? installed_kernel() : made.kernel;
    if (made.kernel.empty() || !std::filesystem::exists(made.kernel)) {
        throw InputError(made.kernel.empty() ? "there is no kernel for the guest: install Debian's package "
                                               "previrt-guest-kernel, or name one by --kernel"
                                             : made.kernel + ": there is no such kernel (--kernel)");
    }
    made.memory = memory_of(resources, options.value("memory", usual_memory));
    made.cpus = processors_of(resources, options.value("cpus", here));
    made.command = config.at("process").at("args").get<std::vector<std::string>>();
    return made;
}

int run_container_guest(const ContainerStore& store) {
    const nlohmann::json config = read_json(store.path_of("config.json"));
    const nlohmann::json kept = read_json(store.path_of("options.json"));
    RunOptions options = make_run_options(kept, config);
    std::optional<NamespaceNetwork> network;
    if (has_namespace(config, "network")) {
        network = read_namespace_network();
    } else {
        options.net = "user";
    }
    if (network) {
        options.net = choice_of(*network);
        give_up_addresses(*network);
    }
    silence_warnings(); // `create` has given them
    const GuestProcess process = make_container_process(config, network);
    const Descriptor sessions(passed_socket);
    fcntl(sessions.number(), F_SETFD, FD_CLOEXEC);
    options.process = &process;
    options.root = store.files();
    options.root_is_writable = true; // or read-only by its mount
    options.root_is_container = true;
    options.sessions = sessions.number();
    options.quiet = true;
    options.isolate = kept.value("isolate", false);
    options.is_own_process = true;
    const Supervision supervision{.signals = container_signals(), .failed = command_failed};
    return run_supervised([&] { return run_guest_of_command(options); }, supervision);
}

int run_further_process(const ContainerStore& store, const std::string& file) {
    const std::string path = store.path_of(file);
    silence_warnings(); // `exec` has given them
    const nlohmann::json process = read_json(path);
    unlink(path.c_str());
    const GuestProcess made = make_further_process(process, read_json(store.path_of("config.json")));
    const SessionOptions options{
        .name = store.name(), .command = made.arguments, .environment = {}, .process = &made};
    Descriptor monitor(passed_socket);
    fcntl(monitor.number(), F_SETFD, FD_CLOEXEC);
    return run_by_monitor(options, std::move(monitor));
}

} // namespace previrt::oci
