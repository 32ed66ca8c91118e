// SPDX-License-Identifier: BSD-2-Clause
#include "host/debian_packages.hpp"

#include "host/cached_directory.hpp"
#include "host/directory_lock.hpp"
#include "host/input_error.hpp"
#include "host/program.hpp"
#include "host/tree.hpp"

#include <filesystem>
#include <iostream>
#include <unistd.h>

namespace previrt {

namespace {

namespace fs = std::filesystem;

const std::vector<std::string> programs = {"apt-cache", "apt-get", "dpkg-deb"};

// Its output must not go to standard output, which is a guest's console.
void run_or_fail(std::vector<std::string> arguments, const std::string& directory, const std::string& what) {
    const Program program{.arguments = std::move(arguments), .directory = directory, .environment = {}};
    const int status = wait_for_program(
        start_program(program, {.input = 0, .output = STDERR_FILENO, .error = STDERR_FILENO}));
    if (status != 0) {
        throw InputError(what + ": " + program.arguments.front() + " ended with status " +
                         std::to_string(status));
    }
}

// apt with package lists of its own: the machine's may be absent or old, and only root may renew them.
class Apt {
public:
    Apt() : directory_(prepared_directory()), lock_(directory_) {}

    [[nodiscard]] std::vector<std::string> command(const std::string& program,
                                                   const std::vector<std::string>& words) const {
        std::vector<std::string> arguments = {program, "-qq",
                                              "-o",    "Dir::State::Lists=" + directory_ + "/lists",
                                              "-o",    "Dir::Cache=" + directory_ + "/cache",
                                              "-o",    "APT::Sandbox::User="};
        arguments.insert(arguments.end(), words.begin(), words.end());
        return arguments;
    }

private:
    static std::string prepared_directory() {
        std::string directory = fs::absolute(cache_directory()).string() + "/apt-packages";
        make_directories(directory + "/lists/partial");
        make_directories(directory + "/cache/archives/partial");
        return directory;
    }

    std::string directory_;
    DirectoryLock lock_;
};

std::string dependency_of(const Apt& apt, const std::string& name) {
    const std::string text =
        read_program(
            {.arguments = apt.command("apt-cache", {"depends", name}), .directory = {}, .environment = {}})
            .text;
    const std::string mark = "Depends: ";
    const std::size_t at = text.find(mark);
    if (at == std::string::npos) {
        throw InputError("cannot find out what Debian's " + name + " depends on");
    }
    const std::size_t begin = at + mark.size();
    return text.substr(begin, text.find('\n', begin) - begin);
}

std::string failure_to_download(const DebianPackages& packages) {
    const std::string list = packages.list();
    return "cannot download Debian's packages (" + list.substr(0, list.find('\n')) + " ...)";
}

// Renews apt's package lists. Returns a command that downloads.
std::vector<std::string> prepare_download(const Apt& apt, const DebianPackages& packages) {
    run_or_fail(apt.command("apt-get", {"update"}), "", failure_to_download(packages));
    std::vector<std::string> words = {"download"};
    words.insert(words.end(), packages.names.begin(), packages.names.end());
    for (const std::string& name : packages.dependencies_of) {
        words.push_back(dependency_of(apt, name));
    }
    return apt.command("apt-get", words);
}

} // namespace

std::string DebianPackages::list() const {
    std::string list;
    for (const std::vector<std::string>* const some : {&names, &dependencies_of, &files}) {
        for (const std::string& name : *some) {
            list += name + '\n';
        }
    }
    return list;
}

void unpack_debian_packages(const DebianPackages& packages, const std::string& directory) {
    std::cerr << "previrt: downloading Debian packages to " << directory << '\n';
    const std::string archives = directory + "/archives";
    make_directories(archives);
    require_programs(programs);
    const Apt apt;
    run_or_fail(prepare_download(apt, packages), archives, failure_to_download(packages));
    for (const fs::directory_entry& archive : fs::directory_iterator(archives)) {
        run_or_fail({"dpkg-deb", "-x", archive.path().string(), directory}, "", archive.path().string());
    }
    fs::remove_all(archives);
}

std::string locate_debian_packages(const DebianPackages& packages, const std::string& name_in_cache) {
    if (const std::string directory = find_cached_directory(name_in_cache, packages.list());
        !directory.empty()) {
        return "is in " + directory;
    }
    require_programs(programs);
    const Apt apt;
    std::vector<std::string> command = prepare_download(apt, packages);
    command.emplace_back("--print-uris"); // and nothing else
    const int status =
        read_program({.arguments = std::move(command), .directory = {}, .environment = {}}).status;
    if (status != 0) {
        throw InputError(failure_to_download(packages) + ": apt-get ended with status " +
                         std::to_string(status));
    }
    return "is to be downloaded from Debian, on first use";
}

} // namespace previrt
