// SPDX-License-Identifier: BSD-2-Clause
#include "bench/peers/debian_tree.hpp"

#include "host/input_error.hpp"
#include "host/program.hpp"
#include "host/tree.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <system_error>

namespace previrt {

// In memory, as a guest's files are: otherwise the bench would compare disks.
DebianTree::DebianTree(const std::string& linux_source) : directory_("/dev/shm/previrt-XXXXXX") {
    if (mkdtemp(directory_.data()) == nullptr) {
        throw InputError(directory_ + ": " + std::generic_category().message(errno));
    }
    std::cerr << "previrt: copying a Debian userland to " << directory_ << '\n';
    Program program{.arguments = {in_source_tree("bench/make-program-tree"), directory_},
                    .directory = {},
                    .environment = {}};
    if (!linux_source.empty()) {
        program.arguments.push_back(linux_source);
    }
    if (run_program(program) != 0) {
        std::filesystem::remove_all(directory_);
        throw InputError(
            "bench/make-program-tree failed: the programs are Debian's, in a tree that root makes");
    }
}

DebianTree::~DebianTree() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

} // namespace previrt
