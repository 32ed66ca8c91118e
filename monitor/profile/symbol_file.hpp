// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/profile/kernel_symbols.hpp"

#include <string>

namespace previrt {

// A file that names a kernel's functions: its vmlinux, its System.map, or the kernel itself.
struct SymbolFile {
    std::string path; // empty: there is none
    KernelSymbols symbols;
    bool has_lines = false; // source lines, of a vmlinux with debug information
};

// Throws InputError, whose message begins with the path, also if a vmlinux is another kernel's.
SymbolFile read_symbol_file(const std::string& path, const std::string& kernel);

// Of a kernel's directory: vmlinux or System.map, or the same in its directory `build`; else the kernel
// itself, if it carries tables of its functions. The path is empty if there is none.
SymbolFile find_symbol_file(const std::string& kernel);

// Why find_symbol_file has found none.
std::string say_lack_of_symbols(const std::string& kernel);

} // namespace previrt
