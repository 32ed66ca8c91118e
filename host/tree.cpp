// SPDX-License-Identifier: BSD-2-Clause
#include "host/tree.hpp"

#include "host/input_error.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace previrt {

std::string in_source_tree(const std::string& path) {
    return std::string(PREVIRT_SOURCE) + "/" + path;
}

std::string definitions_directory() {
    return PREVIRT_DEFINITIONS;
}

std::string this_program() {
    return std::filesystem::read_symlink("/proc/self/exe").string();
}

std::string program_beside_this(const std::string& name) {
    return std::filesystem::path(this_program()).replace_filename(name).string();
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
