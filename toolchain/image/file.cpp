// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/file.hpp"

#include "toolchain/image/input_error.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

namespace previrt {

namespace {

constexpr std::size_t largest_file = std::size_t{4} << 30U;

struct CloseFile {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

[[noreturn]] void fail(const std::string& path) {
    throw InputError(path + ": " + std::generic_category().message(errno));
}

} // namespace

std::vector<std::uint8_t> read_file(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
        throw InputError(path + ": is a directory");
    }
    const File file(std::fopen(path.c_str(), "rbe"));
    if (!file) {
        fail(path);
    }
    std::vector<std::uint8_t> bytes;
    std::array<std::uint8_t, 65536> block{};
    while (const std::size_t got = std::fread(block.data(), 1, block.size(), file.get())) {
        if (bytes.size() + got > largest_file) {
            throw InputError(path + ": larger than 4 GiB");
        }
        bytes.insert(bytes.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(got));
    }
    if (std::ferror(file.get()) != 0) {
        fail(path);
    }
    return bytes;
}

void write_file(const std::string& path, const std::vector<std::uint8_t>& bytes) {
    const std::string temporary = path + ".new";
    File file(std::fopen(temporary.c_str(), "wbe"));
    if (!file) {
        fail(temporary);
    }
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
    if (!written || std::fflush(file.get()) != 0) {
        fail(temporary);
    }
    file.reset();
    std::error_code error;
    const std::filesystem::perms mode = std::filesystem::status(path, error).permissions();
    if (!error) {
        std::filesystem::permissions(temporary, mode, error);
    }
    std::filesystem::rename(temporary, path, error);
    if (error) {
        throw InputError(path + ": " + error.message());
    }
}

} // namespace previrt
