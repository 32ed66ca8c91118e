// SPDX-License-Identifier: BSD-2-Clause
#include "bench/peers/gvisor.hpp"

#include "host/cached_directory.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace previrt {

namespace {

namespace fs = std::filesystem;

constexpr const char* version = "v0.0.0-20260905035102-160fafc42237";
constexpr const char* go_wanted = "Go 1.26.3 or later (https://go.dev/dl; Debian 12's is older)";

void install(const std::string& directory) {
    constexpr unsigned shown_every = 100;
    std::cerr << "previrt: building gVisor " << version << ", once: some minutes\n";
    unsigned packages = 0;
    std::string last;
    const auto read = [&](std::string_view line) {
        last = line;
        if (line.find(' ') == std::string_view::npos && ++packages % shown_every == 0) {
            std::cerr << "previrt: building gVisor: " << packages << " packages\n";
        }
    };
    int status = 0;
    try {
        status = run_program(
            {.arguments = {"go", "install", "-v", std::string("gvisor.dev/gvisor/runsc@") + version},
             .directory = {},
             .environment = {{"GOBIN", directory}, {"CGO_ENABLED", "0"}}},
            read);
    } catch (const InputError&) {
        throw InputError(std::string("there is no Go to build gVisor with: install ") + go_wanted);
    }
    if (status != 0) {
        throw InputError(std::string("gVisor is built by ") + go_wanted + " and here it failed: " + last);
    }
}

struct GvisorRoot {
    std::string path;
    std::string program; // in it
    bool is_written;     // to memory
    std::string shared;  // a directory of this machine, at the same place; empty: none
};

void write_bundle(const std::string& directory, const GvisorRoot& root, const Settings& environment) {
    nlohmann::json variables = nlohmann::json::array();
    for (const auto& [name, value] : environment) {
        variables.push_back(name + "=" + value);
    }
    nlohmann::json namespaces = nlohmann::json::array();
    for (const char* const kind : {"pid", "network", "ipc", "uts", "mount"}) {
        namespaces.push_back({{"type", kind}});
    }
    nlohmann::json mounts = nlohmann::json::array();
    mounts.push_back({{"destination", "/proc"}, {"type", "proc"}, {"source", "proc"}});
    mounts.push_back({{"destination", "/dev/shm"}, {"type", "tmpfs"}, {"source", "tmpfs"}});
    if (!root.shared.empty()) {
        mounts.push_back({{"destination", root.shared},
                          {"type", "bind"},
                          {"source", root.shared},
                          {"options", {"rbind", "rw"}}});
    }
    const nlohmann::json configuration = {
        {"ociVersion", "1.0.0"},
        {"process",
         {{"user", {{"uid", 0}, {"gid", 0}}}, {"args", {root.program}}, {"env", variables}, {"cwd", "/"}}},
        {"root", {{"path", root.path}, {"readonly", !root.is_written}}},
        {"mounts", mounts},
        {"linux", {{"namespaces", namespaces}}},
    };
    write_text(directory + "/config.json", configuration.dump(2) + "\n");
}

} // namespace

std::string find_gvisor() {
    return cached_directory("gvisor", version, install) + "/runsc";
}

namespace {

Program run_bundle(const std::string& runsc, const std::string& bundle, bool is_written) {
    Program run{.arguments = {runsc, "--root=" + bundle + "/state", "--platform=systrap", "--network=none",
                              // A shared one would stay mounted.
                              "--gofer-network-namespace=new", "--ignore-cgroups"},
                .directory = {},
                .environment = {}};
    if (is_written) {
        run.arguments.emplace_back("--overlay2=root:memory");
    }
    if (geteuid() != 0) {
        run.arguments.emplace_back("--rootless");
    }
    run.arguments.insert(run.arguments.end(), {"run", "--bundle", bundle, "operations"});
    return run;
}

Program run_in(const std::string& directory, const std::string& runsc, const GvisorRoot& root,
               const Settings& environment) {
    const std::string bundle = directory + "/gvisor";
    fs::remove_all(bundle);
    fs::create_directories(bundle);
    write_bundle(bundle, root, environment);
    return run_bundle(runsc, bundle, root.is_written);
}

} // namespace

Program gvisor(const std::string& runsc, const std::string& program, const Settings& environment,
               const std::string& directory) {
    const std::string bundle = directory + "/gvisor";
    fs::remove_all(bundle);
    fs::create_directories(bundle + "/root");
    fs::copy_file(program, bundle + "/root/program");
    write_bundle(bundle, {.path = "root", .program = "/program", .is_written = false, .shared = {}},
                 environment);
    return run_bundle(runsc, bundle, false);
}

Program gvisor_tree(const std::string& runsc, const std::string& root, const std::string& program,
                    const Settings& environment, const std::string& directory) {
    return run_in(directory, runsc, {.path = root, .program = program, .is_written = true, .shared = {}},
                  environment);
}

Program gvisor_on_root(const std::string& runsc, const std::string& program, const Settings& environment,
                       const std::string& shared, const std::string& directory) {
    return run_in(directory, runsc, {.path = "/", .program = program, .is_written = false, .shared = shared},
                  environment);
}

} // namespace previrt
