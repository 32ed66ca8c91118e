// SPDX-License-Identifier: BSD-2-Clause
// The first inputs of fuzz_package.
#include "tests/unit/vmm/make_package.hpp"

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace {

void write_seeds(const std::filesystem::path& directory) {
    std::filesystem::create_directories(directory);
    const std::vector<std::uint8_t> package = previrt::make_tiny_package();
    std::ofstream file(directory / "tiny", std::ios::binary);
    file.exceptions(std::ios::failbit | std::ios::badbit);
    file.write(reinterpret_cast<const char*>(package.data()), static_cast<std::streamsize>(package.size()));
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: make_package_seeds DIRECTORY\n";
        return 2;
    }
    try {
        write_seeds(argv[1]);
    } catch (const std::exception& error) {
        std::cerr << "make_package_seeds: " << error.what() << '\n';
        return 2;
    }
    return 0;
}
