// SPDX-License-Identifier: BSD-2-Clause
// An OCI runtime with runc's command line. Each container has a kernel of its own (docs/containers.md).
#include "host/input_error.hpp"
#include "oci/commands.hpp"
#include "oci/guest.hpp"
#include "oci/log.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace previrt::oci {

namespace {

using Action = std::function<int()>;

std::string usual_root() {
    const char* const runtime = std::getenv("XDG_RUNTIME_DIR"); // NOLINT(concurrency-mt-unsafe)
    return geteuid() != 0 && runtime != nullptr && *runtime == '/' ? std::string(runtime) + "/previrt-oci"
                                                                   : "/run/previrt-oci";
}

class CommandLine {
public:
    CommandLine() : app_("Runs containers, each with a Linux kernel of its own", "previrt-oci") {
        global_.root = usual_root();
        add_global_options();
        app_.require_subcommand(1);
        for (CLI::Option* const option : app_.get_options()) {
            option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast); // engines add some twice
        }
        app_.set_version_flag("--version,-v", "previrt-oci version " PREVIRT_VERSION "\nspec: 1.0.2");
        add_create();
        add_exec();
        add_delete();
        add_queries();
        add_host_commands();
        add_refused();
        add_own_programs();
    }

    int run(int count, const char* const* arguments) {
        try {
            app_.parse(count, arguments);
        } catch (const CLI::ParseError& error) {
            constexpr int wrong = 2;
            return app_.exit(error) == 0 ? 0 : wrong;
        }
        global_.root = std::filesystem::absolute(global_.root).string();
        choose_log({.file = global_.log, .is_json = global_.log_format == "json"});
        try {
            return action_();
        } catch (const InputError& error) {
            log_error(error.what());
        } catch (const nlohmann::json::exception& error) {
            log_error(std::string("config.json: ") + error.what());
        }
        return 1;
    }

private:
    void add_global_options() {
        app_.add_option("--root", global_.root, "Where the state of containers is");
        app_.add_option("--log", global_.log, "A file for messages");
        app_.add_option("--log-format", global_.log_format, "text or json")
            ->check(CLI::IsMember({"text", "json"}));
        app_.add_flag("--systemd-cgroup", global_.systemd_cgroup, "systemd makes the cgroups");
        app_.add_flag("--debug", global_.debug, "More messages of the host's runtime");
        app_.add_option("--rootless", global_.rootless, "true, false or auto, for runc");
        app_.add_option("--criu", ignored_, "Not used");
        app_.add_option("--kernel", global_.kernel, "The guests' kernel (that of previrt-guest-kernel)");
        app_.add_option("--memory", global_.memory, "Memory of a guest whose container has no limit (512M)");
        app_.add_option("--cpus", global_.cpus, "Processors of such a guest (all)")->check(CLI::Range(1, 64));
        app_.add_flag("--isolate", global_.isolate,
                      "Protect the guests' kernels from their programs (docs/process.md)");
    }

    CLI::App* add(const char* name, const char* description, Action action) {
        CLI::App* const command = app_.add_subcommand(name, description);
        command->callback([this, action = std::move(action)] { action_ = action; });
        return command;
    }

    static void add_start_options(CLI::App& command, StartOptions& options) {
        command.add_option("--console-socket", options.console_socket, "Gets the terminal");
        command.add_option("--pid-file", options.pid_file, "Gets the number of the process");
        command.add_option("--preserve-fds", options.preserved, "Refused, unless it is 0");
        command.add_option("ID", options.name, "The container")->required();
    }

    static void add_create_options(CLI::App& command, CreateOptions& options) {
        add_start_options(command, options);
        command.add_option("-b,--bundle", options.bundle, "The bundle's directory");
        command.add_flag("--no-pivot", options.no_pivot, "The host's runtime calls no pivot_root");
        command.add_flag("--no-new-keyring", options.no_new_keyring, "The host's runtime makes no keyring");
    }

    void add_create() {
        const auto create = std::make_shared<CreateOptions>();
        add_create_options(*add("create", "Create a container",
                                [this, create] { return create_container(global_, *create); }),
                           *create);
        const auto run = std::make_shared<CreateOptions>();
        CLI::App* const command = add("run", "Create a container, start it, and wait for its end",
                                      [this, run] { return run_container(global_, *run); });
        add_create_options(*command, *run);
        command->add_flag("-d,--detach", run->detach, "Do not wait");
        command->add_flag("--no-subreaper", run->no_subreaper, "The host's runtime adopts no orphans");
    }

    void add_exec() {
        const auto exec = std::make_shared<ExecOptions>();
        CLI::App* const command = add("exec", "Run a further process in a container",
                                      [this, exec] { return execute_in_container(global_, *exec); });
        command->add_option("-p,--process", exec->process, "A file with the process");
        command->add_flag("-t,--tty", exec->has_terminal, "It has a terminal");
        command->add_flag("-d,--detach", exec->detach, "Do not wait");
        command->add_option("--cwd", exec->directory, "Its directory");
        command->add_option("-e,--env", exec->environment, "NAME=VALUE")->allow_extra_args(false);
        command->add_option("-u,--user", exec->user, "UID[:GID]");
        command->add_option("-g,--additional-gids", exec->groups, "A further group")->allow_extra_args(false);
        command->add_option("-c,--cap", exec->capabilities, "A capability")->allow_extra_args(false);
        command->add_flag("--no-new-privs", exec->no_new_privileges, "It gets no new rights");
        command->add_flag("--ignore-paused", exec->ignore_paused, "Also in a paused container");
        command->add_option("--cgroup", exec->cgroup, "Refused");
        add_start_options(*command, *exec);
        command->add_option("COMMAND", exec->command, "The program and its arguments");
        command->positionals_at_end();
    }

    void add_delete() {
        const auto name = std::make_shared<std::string>();
        const auto force = std::make_shared<bool>(false);
        CLI::App* const command = add("delete", "Remove a container that has ended",
                                      [=, this] { return delete_container(global_, *name, *force); });
        command->add_option("ID", *name, "The container")->required();
        command->add_flag("-f,--force", *force, "End it first");
    }

    void add_queries() {
        const auto name = std::make_shared<std::string>();
        add("state", "Show a container's state", [=, this] { return show_state(global_, *name); })
            ->add_option("ID", *name, "The container")
            ->required();
        const auto format = std::make_shared<std::string>("table");
        const auto quiet = std::make_shared<bool>(false);
        CLI::App* const list = add("list", "Show all containers",
                                   [=, this] { return list_containers(global_, *format, *quiet); });
        list->add_option("-f,--format", *format, "table or json")->check(CLI::IsMember({"table", "json"}));
        list->add_flag("-q,--quiet", *quiet, "Names only");
        add("features", "Show what this runtime supports", show_features);
    }

    // The host's runtime does all of it: the container's process is the guest's.
    void add_host_command(const char* name, const char* description) {
        CLI::App* const command = app_.add_subcommand(name, description);
        command->prefix_command();
        command->callback([this, name, command] {
            action_ = [this, name, command]() -> int {
                std::vector<std::string> words = command->remaining();
                words.insert(words.begin(), name);
                become_host_runtime(global_, words);
            };
        });
    }

    void add_host_commands() {
        add_host_command("start", "Start a container that was created");
        add_host_command("kill", "Send a signal to a container");
        add_host_command("pause", "Stop all of a container's processors");
        add_host_command("resume", "Let them go on");
        add_host_command("ps", "Show the processes of this machine that are the container's guest");
        add_host_command("events", "Show what the guest uses of this machine");
        add_host_command("spec", "Write a config.json");
    }

    void add_refused_command(const char* name, const char* reason) {
        CLI::App* const command = app_.add_subcommand(name, reason);
        command->prefix_command();
        command->callback([this, name, reason] {
            action_ = [name, reason]() -> int { throw InputError(std::string(name) + ": " + reason); };
        });
    }

    void add_refused() {
        add_refused_command("update", "the limits of a guest cannot be changed so far");
        add_refused_command("checkpoint", "a guest's state cannot be saved so far");
        add_refused_command("restore", "a guest's state cannot be restored so far");
    }

    // Of the container's process.
    void add_own_programs() {
        const auto name = std::make_shared<std::string>();
        const auto file = std::make_shared<std::string>();
        CLI::App* const guest =
            add("guest", "", [=, this] { return run_container_guest(ContainerStore(global_.root, *name)); });
        guest->add_option("ID", *name, "")->required();
        guest->group("");
        CLI::App* const further = add("further-process", "", [=, this] {
            return run_further_process(ContainerStore(global_.root, *name), *file);
        });
        further->add_option("ID", *name, "")->required();
        further->add_option("FILE", *file, "")->required();
        further->group("");
    }

    CLI::App app_;
    GlobalOptions global_;
    std::string ignored_;
    Action action_;
};

} // namespace

} // namespace previrt::oci

int main(int count, char** arguments) {
    return previrt::oci::CommandLine().run(count, arguments);
}
