// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace previrt {

// The compiler and its options for recording.
struct Compiler {
    std::vector<std::string> make_variables;
    std::string flags; // for C and assembler source, when recording
    std::string identity;
    std::string macros; // the file that they include
};

// "gcc" or "clang". Throws InputError with all missing programs of a kernel's build.
Compiler find_compiler(const std::string& name);

} // namespace previrt
