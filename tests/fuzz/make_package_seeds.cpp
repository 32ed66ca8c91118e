// SPDX-License-Identifier: BSD-2-Clause
// The first inputs of fuzz_package.
#include "host/file.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/unit/vmm/make_package.hpp"

void previrt::write_seeds(const std::string& directory) {
    write_file(directory + "/tiny", make_tiny_package());
}
