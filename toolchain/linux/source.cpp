// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/linux/source.hpp"

#include "host/directory_lock.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/program.hpp"
#include "host/tree.hpp"

#include <filesystem>
#include <iostream>
#include <regex>
#include <vector>

namespace previrt {

namespace {

namespace fs = std::filesystem;

// PACKAGE NAME DIRECTORY: the package contains the source as an archive.
constexpr const char* unpack =
    "set -o pipefail; dpkg-deb --fsys-tarfile \"$1\" | tar -xO \"./usr/src/$2.tar.xz\" |"
    " tar -xJ --strip-components=1 -C \"$3\"";

// apt with package lists of its own: the machine's may be absent or old, and only root may renew them.
std::vector<std::string> apt(const std::string& cache, std::vector<std::string> command) {
    std::vector<std::string> arguments = {"apt-get", "-q",
                                          "-o",      "Dir::State::Lists=" + cache + "/apt/lists",
                                          "-o",      "Dir::Cache=" + cache + "/apt/cache",
                                          "-o",      "APT::Sandbox::User="};
    arguments.insert(arguments.end(), command.begin(), command.end());
    return arguments;
}

std::string cached_package(const std::string& directory, const std::string& name) {
    std::string newest;
    fs::file_time_type time;
    if (!fs::is_directory(directory)) {
        return newest;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
        const std::string file = entry.path().filename().string();
        if (file.starts_with(name + "_") && file.ends_with(".deb") &&
            (newest.empty() || entry.last_write_time() > time)) {
            newest = entry.path().string();
            time = entry.last_write_time();
        }
    }
    return newest;
}

void run_or_fail(const Program& program, const std::string& what) {
    if (const int status = run_program(program); status != 0) {
        throw InputError(what + ": " + program.arguments.front() + " ended with status " +
                         std::to_string(status));
    }
}

std::string download(const std::string& cache, const std::string& name) {
    const std::string directory = cache + "/sources";
    std::cerr << "previrt: downloading Debian's " << name << " to " << directory << '\n';
    make_directories(directory);
    make_directories(cache + "/apt/lists/partial");
    make_directories(cache + "/apt/cache/archives/partial");
    const std::string remedy = "cannot download " + name + " (or give --source DIR)";
    run_or_fail({.arguments = apt(cache, {"-q", "update"}), .directory = {}, .environment = {}}, remedy);
    run_or_fail({.arguments = apt(cache, {"download", name}), .directory = directory, .environment = {}},
                remedy);
    return cached_package(directory, name);
}

} // namespace

void require_source_programs() {
    require_programs({"apt-get", "bash", "dpkg-deb", "tar", "xz"});
}

LinuxSource fetch_linux_source(const std::string& version) {
    const std::string name = "linux-source-" + version;
    const std::string cache = cache_directory();
    make_directories(cache + "/linux");
    const DirectoryLock lock(cache + "/linux/" + name);
    std::string package = cached_package(cache + "/sources", name);
    if (package.empty()) {
        require_source_programs();
        package = download(cache, name);
    }
    // linux-source-6.1_6.1.192-2_all.deb
    std::string package_version = fs::path(package).filename().string().substr(name.size() + 1);
    package_version = package_version.substr(0, package_version.find('_'));
    const std::string directory = cache + "/linux/" + name + "_" + package_version;
    if (!fs::exists(directory)) {
        require_source_programs();
        std::cerr << "previrt: unpacking " << name << ' ' << package_version << '\n';
        const std::string partial = directory + ".partial";
        fs::remove_all(partial);
        make_directories(partial);
        run_or_fail({.arguments = {"bash", "-c", unpack, "unpack", package, name, partial},
                     .directory = {},
                     .environment = {}},
                    package);
        fs::rename(partial, directory);
    }
    return {.directory = directory, .name = name + " " + package_version, .version = version, .ours = true};
}

LinuxSource open_linux_source(const std::string& directory) {
    const std::string text = read_text(directory + "/Makefile");
    static const std::regex numbers("^VERSION = ([0-9]+)\nPATCHLEVEL = ([0-9]+)\n", std::regex::multiline);
    std::smatch match;
    if (!std::regex_search(text, match, numbers)) {
        throw InputError(directory + "/Makefile: this is not the top of a Linux source");
    }
    return {.directory = fs::canonical(directory).string(),
            .name = fs::canonical(directory).string(),
            .version = match[1].str() + "." + match[2].str(),
            .ours = false};
}

} // namespace previrt
