// SPDX-License-Identifier: BSD-2-Clause
// The first inputs of fuzz_slide: a kernel that can be moved, with each list of fields.
#include "tests/unit/make_linux.hpp"
#include "toolchain/image/file.hpp"

#include <exception>
#include <filesystem>
#include <iostream>

namespace previrt {

namespace {

void write_seed(const std::string& path, const LinuxRelocations& relocations) {
    std::vector<std::uint8_t> bytes = make_linux(linux_sample);
    const std::vector<std::uint8_t> table = make_relocation_table(relocations);
    bytes.insert(bytes.end(), table.begin(), table.end());
    write_file(path, bytes);
}

int main(const std::string& directory) {
    std::filesystem::create_directories(directory);
    write_seed(directory + "/all", linux_sample_relocations);
    write_seed(directory + "/none", {});
    write_seed(directory + "/inverse", {.full_64 = {}, .inverse_32 = {linux_text}, .signed_32 = {}});
    return 0;
}

} // namespace

} // namespace previrt

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: make_slide_seeds DIRECTORY\n";
        return 2;
    }
    try {
        return previrt::main(argv[1]);
    } catch (const std::exception& error) {
        std::cerr << "make_slide_seeds: " << error.what() << '\n';
        return 2;
    }
}
