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

Program user_mode_linux(const std::string& linux, const std::string& initrd,
                        const std::vector<std::string>& words, const std::string& directory,
                        const std::string& memory) {
    // Its memory is a file in TMPDIR that it maps executable.
    Program program{.arguments = {linux, "mem=" + memory, "initrd=" + initrd, "con0=null,fd:1", "con=null",
                                  "ssl=null", "uml_dir=" + directory},
                    .directory = directory,
                    .environment = {{"TMPDIR", "/dev/shm"}}};
    program.arguments.insert(program.arguments.end(), words.begin(), words.end());
    return program;
}

} // namespace previrt
