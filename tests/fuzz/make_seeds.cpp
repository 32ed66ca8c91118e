// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/seeds.hpp"

#include <exception>
#include <filesystem>
#include <iostream>

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: " << argv[0] << " DIRECTORY\n";
        return 2;
    }
    try {
        std::filesystem::create_directories(argv[1]);
        previrt::write_seeds(argv[1]);
        return 0;
    } catch (const std::exception& error) {
        std::cerr << argv[0] << ": " << error.what() << '\n';
        return 2;
    }
}
