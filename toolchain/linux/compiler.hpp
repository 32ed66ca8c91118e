// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace previrt {

// The compiler and its options for recording.
struct Compiler {
    std::string program;
    std::vector<std::string> make_variables;
    std::string identity;
    std::string macros; // the file of definitions that turns instructions into sites
};

// "gcc" or "clang". Throws InputError with all missing programs of a kernel's build.
Compiler find_compiler(const std::string& name);

// Options that record sites, for C and assembler source; `definitions` as definitions_directory().
std::string recording_flags(const Compiler& compiler, const std::string& definitions);
// The files on which the text of an object depends besides source and options: compiler, assembler, their
// libraries.
std::vector<std::string> files_of(const Compiler& compiler);

} // namespace previrt
