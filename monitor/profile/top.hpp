// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <string>

namespace previrt {

struct TopOptions {
    std::string name; // of the guest
    double interval = 1;
    unsigned times = 0;    // 0: until the guest ends
    std::size_t rows = 20; // of instructions
    std::string symbols;   // a file; empty: one beside the kernel
};

// Prints the rates of a running guest's causes and instructions on standard output, again and again. Returns
// 0, at the guest's end too. Throws InputError.
int watch_instructions(const TopOptions& options);

} // namespace previrt
