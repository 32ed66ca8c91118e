// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/linux/object_cache.hpp"

#include "host/digest.hpp"
#include "host/directory_lock.hpp"
#include "host/file.hpp"
#include "host/program.hpp"
#include "host/tree.hpp"

#include <array>
#include <filesystem>

namespace previrt {

namespace {

namespace fs = std::filesystem;

// What recording_flags() makes a compiler read.
constexpr std::array definition_files = {"sites-gas.s", "sites-clang.s", "sites-clang.h"};

} // namespace

ObjectCache find_object_cache(const Compiler& compiler, const std::string& directory) {
    if (path_of_program("ccache").empty()) {
        return {};
    }
    // By itself ccache looks at the date of the compiler's driver alone: another assembler, or a library of
    // clang's, would go unnoticed.
    Digest digest;
    for (const std::string& file : files_of(compiler)) {
        digest.add(file).add(sha256_of_file(file));
    }
    return {
        .launcher = "ccache ",
        .environment = {{"CCACHE_COMPILERCHECK", "string:" + digest.hex()}, {"CCACHE_BASEDIR", directory}}};
}

std::string shared_definitions(const std::string& definitions) {
    const std::string from = definitions + "/previrt/";
    Digest digest;
    for (const char* const file : definition_files) {
        digest.add(read_text(from + file));
    }
    const std::string directory = cache_directory() + "/definitions/" + digest.hex();
    make_directories(directory + "/previrt");
    const DirectoryLock lock(directory);
    for (const char* const file : definition_files) {
        if (const std::string copy = directory + "/previrt/" + file; !fs::exists(copy)) {
            write_text(copy, read_text(from + file)); // in one step
        }
    }
    return directory;
}

} // namespace previrt
