// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/linux/compiler.hpp"

#include "host/input_error.hpp"
#include "host/program.hpp"
#include "host/tree.hpp"

namespace previrt {

namespace {

// For the kernel's objtool.
void require_libelf(const std::string& compiler) {
    const Program program{
        .arguments = {compiler, "-fsyntax-only", "-x", "c", "-include", "gelf.h", "/dev/null"},
        .directory = {},
        .environment = {}};
    if (run_program(program, [](std::string_view /*line*/) {}) != 0) {
        throw InputError("the header gelf.h is missing (apt-get install libelf-dev)");
    }
}

} // namespace

Compiler find_compiler(const std::string& name) {
    std::vector<std::string> needed = {"make", "flex",   "bison", "bc",    "perl",
                                       "ld",   "depmod", "patch", "rsync", "lz4"};
    if (name == "gcc") {
        needed.emplace_back("gcc-12");
    } else {
        needed.insert(needed.end(), {"clang-19", "ld.lld-19", "llvm-objcopy-19"});
    }
    require_programs(needed);
    const std::string definitions = definitions_directory();
    Compiler compiler;
    std::string program;
    if (name == "gcc") {
        program = "gcc-12";
        compiler.macros = definitions + "/previrt/sites-gas.s";
        compiler.make_variables = {"CC=gcc-12", "HOSTCC=gcc-12"};
        compiler.flags = "-DPREVIRT_SITES -Wa," + compiler.macros;
    } else {
        program = "clang-19";
        compiler.macros = definitions + "/previrt/sites-clang.s";
        compiler.make_variables = {"LLVM=-19"};
        compiler.flags = "-I" + definitions + " -include previrt/sites-clang.h";
    }
    require_libelf(program);
    const ProgramOutput version =
        read_program({.arguments = {program, "--version"}, .directory = {}, .environment = {}});
    compiler.identity = version.text.substr(0, version.text.find('\n'));
    return compiler;
}

} // namespace previrt
