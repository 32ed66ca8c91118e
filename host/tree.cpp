// SPDX-License-Identifier: BSD-2-Clause
#include "host/tree.hpp"

#include "host/input_error.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace previrt {

namespace {

// Empty: this program is not installed.
std::filesystem::path installed_prefix() {
    const std::filesystem::path directory = std::filesystem::path(this_program()).parent_path();
    std::filesystem::path prefix = directory.parent_path();
    if (directory.filename() == "previrt" && prefix.filename() == "lib") {
        prefix = prefix.parent_path();
    } else if (directory.filename() != "bin") {
        return {};
    }
    return std::filesystem::exists(prefix / "lib/previrt/previrt-process") ? prefix : std::filesystem::path();
}

std::string installed_or(const std::string& installed, const std::string& built) {
    const std::filesystem::path prefix = installed_prefix();
    return prefix.empty() ? built : (prefix / installed).string();
}

} // namespace

std::string in_source_tree(const std::string& path) {
    return installed_or("share/previrt/" + path, std::string(PREVIRT_SOURCE) + "/" + path);
}

std::string built_file(const std::string& built) {
    return installed_or("lib/previrt/" + std::filesystem::path(built).filename().string(), built);
}

std::string definitions_directory() {
    return installed_or("share/previrt/definitions", PREVIRT_DEFINITIONS);
}

std::string installed_kernel() {
    const std::string kernel = installed_or("lib/previrt/guest-kernel/bzImage", "");
    return std::filesystem::exists(kernel) ? kernel : "";
}

std::string this_program() {
    return std::filesystem::read_symlink("/proc/self/exe").string();
}

std::string program_beside_this(const std::string& name) {
    return installed_or((name == "previrt" ? "bin/" : "lib/previrt/") + name,
                        std::filesystem::path(this_program()).replace_filename(name).string());
}

std::string cache_directory() {
    if (const char* const directory = std::getenv("PREVIRT_CACHE"); directory != nullptr) {
        return directory;
    }
    if (const char* const directory = std::getenv("XDG_CACHE_HOME"); directory != nullptr) {
        return std::string(directory) + "/previrt";
    }
    if (const char* const home = std::getenv("HOME"); home != nullptr) {
        return std::string(home) + "/.cache/previrt";
    }
    throw InputError("no place for downloads: set PREVIRT_CACHE or HOME");
}

void make_directories(const std::string& path) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) {
        throw InputError(path + ": " + error.message());
    }
}

} // namespace previrt
