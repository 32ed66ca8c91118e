// SPDX-License-Identifier: BSD-2-Clause
#include "oci/commands.hpp"
#include "oci/configuration.hpp"
#include "oci/guest.hpp"
#include "oci/store.hpp"

#include "host/input_error.hpp"

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

namespace previrt::oci {

namespace {

// The engine's bundle is not the one that the host's runtime knows, and the annotations are the same.
void complete(nlohmann::json& state, const std::string& root) {
    const ContainerStore store(root, state.at("id"));
    if (store.exists()) {
        state["bundle"] = read_json(store.path_of("options.json")).at("bundle");
    }
}

} // namespace

int show_state(const GlobalOptions& options, const std::string& name) {
    std::string text;
    const int status = read_host_runtime(options, {"state", name}, text);
    if (status != 0) {
        std::cout << text;
        return status;
    }
    nlohmann::json state = nlohmann::json::parse(text);
    complete(state, options.root);
    std::cout << state.dump(2) << '\n';
    return 0;
}

int list_containers(const GlobalOptions& options, const std::string& format, bool quiet) {
    if (quiet || format != "json") {
        std::vector<std::string> words = {"list", "--format", format};
        if (quiet) {
            words.emplace_back("--quiet");
        }
        become_host_runtime(options, words);
    }
    std::string text;
    const int status = read_host_runtime(options, {"list", "--format", "json"}, text);
    nlohmann::json list = status == 0 ? nlohmann::json::parse(text) : nlohmann::json();
    for (nlohmann::json& state : list) {
        complete(state, options.root);
    }
    std::cout << list.dump() << '\n';
    return status;
}

int delete_container(const GlobalOptions& options, const std::string& name, bool force) {
    const ContainerStore store(options.root, name);
    std::vector<std::string> words = {"delete"};
    if (force) {
        words.emplace_back("--force");
    }
    words.push_back(name);
    const int status = run_host_runtime(options, words);
    // `create` may have been killed before the host's runtime had made its part.
    if (status == 0 || !std::filesystem::exists(root_of_host_runtime(options.root) + "/" + name)) {
        store.remove();
    }
    return status;
}

int show_features() {
    const nlohmann::json features = {
        {"ociVersionMin", "1.0.0"},
        {"ociVersionMax", "1.0.2"},
        {"hooks",
         {"prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"}},
        {"linux",
         {{"namespaces", {"cgroup", "ipc", "mount", "network", "pid", "uts"}},
          {"cgroup", {{"v1", true}, {"v2", true}, {"systemd", true}, {"rdma", true}}},
          {"seccomp",
           {{"enabled", true},
            {"archs", {"SCMP_ARCH_X86", "SCMP_ARCH_X32", "SCMP_ARCH_X86_64"}},
            {"actions",
             {"SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO", "SCMP_ACT_KILL", "SCMP_ACT_KILL_PROCESS",
              "SCMP_ACT_KILL_THREAD", "SCMP_ACT_LOG", "SCMP_ACT_TRACE", "SCMP_ACT_TRAP"}}}},
          {"apparmor", {{"enabled", false}}},
          {"selinux", {{"enabled", false}}}}},
        {"annotations", {{"previrt.version", PREVIRT_VERSION}}}};
    std::cout << features.dump(2) << '\n';
    return 0;
}

} // namespace previrt::oci
