// SPDX-License-Identifier: BSD-2-Clause
#include "host/input_error.hpp"
#include "host/tree.hpp"
#include "oci/commands.hpp"
#include "oci/configuration.hpp"
#include "oci/guest.hpp"
#include "oci/host_configuration.hpp"
#include "oci/log.hpp"
#include "oci/store.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

namespace previrt::oci {

namespace {

nlohmann::json options_of(const GlobalOptions& options) {
    nlohmann::json kept = nlohmann::json::object();
    if (!options.kernel.empty()) {
        kept["kernel"] = std::filesystem::absolute(options.kernel).string();
    }
    if (!options.memory.empty()) {
        std::string text = options.memory;
        CLI::AsSizeValue(false)(text);
        kept["memory"] = std::strtoull(text.c_str(), nullptr, 10);
    }
    if (options.cpus != 0) {
        kept["cpus"] = options.cpus;
    }
    kept["isolate"] = options.isolate;
    return kept;
}

void warn_of_passed_sockets() {
    if (std::getenv("LISTEN_FDS") != nullptr) { // NOLINT(concurrency-mt-unsafe)
        log_warning("LISTEN_FDS: a guest gets no socket of this machine: the container has none of them");
    }
}

// All that can be found wrong now, the engine learns now.
void make_store(const GlobalOptions& options, const CreateOptions& create, const ContainerStore& store) {
    const std::string bundle = std::filesystem::absolute(create.bundle).lexically_normal().string();
    const nlohmann::json config = read_configuration(bundle);
    const nlohmann::json kept = options_of(options);
    make_run_options(kept, config);
    make_container_process(config);
    const std::vector<std::string> arguments = {passed_program, store.files(), this_program(), "--root",
                                                options.root,   "guest",       store.name()};
    store.make();
    write_json(store.path_of("config.json"), config);
    nlohmann::json state = kept;
    state["bundle"] = bundle;
    write_json(store.path_of("options.json"), state);
    write_json(store.bundle() + "/config.json", make_host_configuration(config, bundle, arguments));
}

std::vector<std::string> host_options(const CreateOptions& create, const ContainerStore& store) {
    std::vector<std::string> words = create.for_host_runtime();
    words.insert(words.end(), {"--bundle", store.bundle()});
    if (create.no_pivot) {
        words.emplace_back("--no-pivot");
    }
    if (create.no_new_keyring) {
        words.emplace_back("--no-new-keyring");
    }
    if (create.no_subreaper) {
        words.emplace_back("--no-subreaper");
    }
    words.push_back(create.name);
    return words;
}

int start(const GlobalOptions& options, const CreateOptions& create, const char* command) {
    const ContainerStore store(options.root, create.name);
    std::vector<std::string> words = host_options(create, store);
    warn_of_passed_sockets();
    make_store(options, create, store);
    words.insert(words.begin(), command);
    const PassedDescriptors passed(store.listen_for_sessions());
    return run_host_runtime(options, words, passed.numbers());
}

} // namespace

std::vector<std::string> StartOptions::for_host_runtime() const {
    if (preserved != 0) {
        throw InputError("--preserve-fds: a guest gets no descriptor of this machine");
    }
    std::vector<std::string> words = {"--preserve-fds", passed_count};
    if (!console_socket.empty()) {
        words.insert(words.end(), {"--console-socket", console_socket});
    }
    if (!pid_file.empty()) {
        words.insert(words.end(), {"--pid-file", pid_file});
    }
    if (detach) {
        words.emplace_back("--detach");
    }
    return words;
}

PassedDescriptors::PassedDescriptors(Descriptor socket)
    : program_(open(built_file(PREVIRT_CONTAINER_PROCESS).c_str(), O_RDONLY | O_CLOEXEC)),
      machine_(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC)), socket_(std::move(socket)) {
    if (program_.number() < 0 || machine_.number() < 0) {
        throw InputError(
            (program_.number() < 0 ? built_file(PREVIRT_CONTAINER_PROCESS) : "/proc/self/ns/mnt") + ": " +
            std::generic_category().message(errno));
    }
}

int create_container(const GlobalOptions& options, const CreateOptions& create) {
    const int status = start(options, create, "create");
    if (status != 0) {
        ContainerStore(options.root, create.name).remove();
    }
    return status;
}

int run_container(const GlobalOptions& options, const CreateOptions& create) {
    const int status = start(options, create, "run");
    if (!create.detach || status != 0) {
        ContainerStore(options.root, create.name).remove();
    }
    return status;
}

} // namespace previrt::oci
