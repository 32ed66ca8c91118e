// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace previrt {

// The options of `as` that gcc, clang and Linux's build pass for x86-64.
struct AssemblerOptions {
    std::vector<std::string> inputs; // read as one file; "-" or none is standard input
    std::string output = "a.out";
    std::vector<std::string> include_directories;
    std::vector<std::pair<std::string, long>> symbols; // --defsym
    bool executable_stack_note = false;                // --noexecstack
    bool fatal_warnings = false;
    bool no_warnings = false;
    bool debug_lines = false; // -g: line numbers of the assembler source itself
    bool relax_relocations = true;
    bool version = false;
    bool help = false;
};

// Throws InputError.
AssemblerOptions parse_assembler_options(const std::vector<std::string>& arguments);

} // namespace previrt
