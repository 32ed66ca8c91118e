// SPDX-License-Identifier: BSD-2-Clause
#include "bench/peers/gvisor.hpp"

#include "host/cached_directory.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>
#include <vector>

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
    // Directories of this machine, at the same places.
    std::vector<std::string> read_only;
    std::string shared; // empty: none
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
    const auto bind = [&](const std::string& place, const char* rights) {
        mounts.push_back(
            {{"destination", place}, {"type", "bind"}, {"source", place}, {"options", {"rbind", rights}}});
    };
    for (const std::string& place : root.read_only) {
        bind(place, "ro");
    }
    if (!root.shared.empty()) {
        bind(root.shared, "rw");
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

std::string make_bundle(const std::string& directory) {
    std::string bundle = directory + "/gvisor";
    fs::remove_all(bundle);
    fs::create_directories(bundle + "/root");
    return bundle;
}

// If the root were this machine's, runsc would make all beneath it read-only, and what is shared too. Returns
// the directories that are to be there.
std::vector<std::string> make_root_like_this(const std::string& root) {
    std::vector<std::string> directories;
    for (const fs::directory_entry& entry : fs::directory_iterator("/")) {
        const std::string name = entry.path().filename();
        if (entry.is_symlink()) {
            fs::copy_symlink(entry.path(), root + "/" + name);
        } else if (entry.is_directory() && name != "dev" && name != "proc" && name != "sys") { // gVisor's own
            fs::create_directory(root + "/" + name);
            directories.push_back(entry.path());
        }
    }
    return directories;
}

} // namespace

Program gvisor(const std::string& runsc, const std::string& program, const Settings& environment,
               const std::string& directory) {
    const std::string bundle = make_bundle(directory);
    fs::copy_file(program, bundle + "/root/program");
    write_bundle(bundle,
                 {.path = "root", .program = "/program", .is_written = false, .read_only = {}, .shared = {}},
                 environment);
    return run_bundle(runsc, bundle, false);
}

Program gvisor_tree(const std::string& runsc, const std::string& root, const std::string& program,
                    const Settings& environment, const std::string& directory) {
    const std::string bundle = make_bundle(directory);
    write_bundle(bundle,
                 {.path = root, .program = program, .is_written = true, .read_only = {}, .shared = {}},
                 environment);
    return run_bundle(runsc, bundle, true);
}

Program gvisor_on_root(const std::string& runsc, const std::string& program, const Settings& environment,
                       const std::string& shared, const std::string& directory) {
    const std::string bundle = make_bundle(directory);
    write_bundle(bundle,
                 {.path = "root",
                  .program = program,
                  .is_written = false,
                  .read_only = make_root_like_this(bundle + "/root"),
                  .shared = shared},
                 environment);
    return run_bundle(runsc, bundle, false);
}

} // namespace previrt
