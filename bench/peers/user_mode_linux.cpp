// SPDX-License-Identifier: BSD-2-Clause
#include "bench/peers/user_mode_linux.hpp"

#include "host/cached_directory.hpp"
#include "host/debian_packages.hpp"

#include <filesystem>

namespace previrt {

std::string find_user_mode_linux() {
    constexpr const char* installed = "/usr/bin/linux.uml";
    if (std::filesystem::exists(installed)) {
        return installed;
    }
    const DebianPackages packages{.names = {"user-mode-linux"}, .dependencies_of = {}, .files = {}};
    return cached_directory(
               "user-mode-linux", packages.list(),
               [&](const std::string& directory) { unpack_debian_packages(packages, directory); }) +
           installed;
}

namespace {

Program start(const std::string& linux, const std::vector<std::string>& files,
              const std::vector<std::string>& words, const std::string& directory,
              const std::string& memory) {
    // Its memory is a file in TMPDIR that it maps executable.
    Program program{.arguments = {linux, "mem=" + memory},
                    .directory = directory,
                    .environment = {{"TMPDIR", "/dev/shm"}}};
    const std::vector<std::string> machine = {"con0=null,fd:1", "con=null", "ssl=null",
                                              "uml_dir=" + directory};
    for (const auto* const more : {&files, &machine, &words}) {
        program.arguments.insert(program.arguments.end(), more->begin(), more->end());
    }
    return program;
}

} // namespace

Program user_mode_linux(const std::string& linux, const std::string& initrd,
                        const std::vector<std::string>& words, const std::string& directory,
                        const std::string& memory) {
    return start(linux, {"initrd=" + initrd}, words, directory, memory);
}

Program user_mode_linux_on_root(const std::string& linux, const std::vector<std::string>& disks,
                                const std::vector<std::string>& words, const std::string& directory,
                                const std::string& memory) {
    std::vector<std::string> files = {"root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"};
    files.insert(files.end(), disks.begin(), disks.end());
    return start(linux, files, words, directory, memory);
}

} // namespace previrt
