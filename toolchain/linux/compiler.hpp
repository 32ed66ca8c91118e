// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace previrt {

// How a compiler is told to compile, and to record.
struct Compiler {
    std::vector<std::string> make_variables;
    std::string flags; // of C and assembler source, when recording
    std::string identity;
    std::string macros; // the file that it reads
};

// "gcc" or "clang". Throws InputError, naming what is missing of all that a kernel's build needs.
Compiler find_compiler(const std::string& name);

} // namespace previrt
