// SPDX-License-Identifier: BSD-2-Clause
#include "host/file.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace previrt {

namespace {

constexpr std::size_t largest_file = std::size_t{4} << 30U;

[[noreturn]] void fail(const std::string& path) {
    throw InputError(path + ": " + std::generic_category().message(errno));
}

std::string temporary_of(const std::string& path) {
    return path + ".new";
}

} // namespace

std::vector<std::uint8_t> read_file(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
        throw InputError(path + ": is a directory");
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        fail(path);
    }
    std::vector<std::uint8_t> bytes;
    const std::uintmax_t length = std::filesystem::file_size(path, error); // of a regular file, now
    bytes.reserve(error ? 0 : std::min<std::uintmax_t>(length, largest_file));
    std::array<char, 65536> block{};
    while (file.read(block.data(), block.size()) || file.gcount() > 0) {
        if (bytes.size() + block.size() > largest_file) {
            throw InputError(path + ": larger than 4 GiB");
        }
        bytes.insert(bytes.end(), block.begin(), block.begin() + file.gcount());
    }
    if (file.bad()) {
        fail(path);
    }
    return bytes;
}

std::string read_text(const std::string& path) {
    const std::vector<std::uint8_t> bytes = read_file(path);
    return {bytes.begin(), bytes.end()};
}

void write_file(const std::string& path, const std::vector<std::uint8_t>& bytes) {
    const std::string temporary = temporary_of(path);
    std::ofstream file(temporary, std::ios::binary);
    std::ranges::copy(bytes, std::ostreambuf_iterator<char>(file));
    file.close();
    if (!file) {
        fail(temporary);
    }
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

void check_writable(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
        throw InputError(path + ": is a directory");
    }
    const std::string temporary = temporary_of(path);
    if (!std::ofstream(temporary, std::ios::binary)) {
        fail(path);
    }
    std::filesystem::remove(temporary, error);
}

void write_text(const std::string& path, const std::string& text) {
    write_file(path, {text.begin(), text.end()});
}

} // namespace previrt
