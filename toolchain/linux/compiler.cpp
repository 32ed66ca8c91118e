// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/linux/compiler.hpp"

#include "host/input_error.hpp"
#include "host/program.hpp"

#include <regex>
#include <set>
#include <utility>

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

std::string text_of(const std::vector<std::string>& command) {
    ProgramOutput output = read_program({.arguments = command, .directory = {}, .environment = {}});
    if (output.status != 0) {
        throw InputError(command.front() + " " + command.back() + " ended with status " +
                         std::to_string(output.status));
    }
    return std::move(output.text);
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
    Compiler compiler;
    if (name == "gcc") {
        compiler.program = "gcc-12";
        compiler.macros = "sites-gas.s";
        compiler.make_variables = {"HOSTCC=gcc-12"};
    } else {
        compiler.program = "clang-19";
        compiler.macros = "sites-clang.s";
        compiler.make_variables = {"LLVM=-19"};
    }
    require_libelf(compiler.program);
    const std::string version = text_of({compiler.program, "--version"});
    compiler.identity = version.substr(0, version.find('\n'));
    return compiler;
}

std::string recording_flags(const Compiler& compiler, const std::string& definitions) {
    return compiler.program == "gcc-12" ? "-DPREVIRT_SITES -Wa," + definitions + "/previrt/" + compiler.macros
                                        : "-I" + definitions + " -include previrt/sites-clang.h";
}

std::vector<std::string> files_of(const Compiler& compiler) {
    std::vector<std::string> programs = {path_of_program(compiler.program)};
    if (compiler.program == "gcc-12") {
        for (const char* const part : {"cc1", "as"}) {
            const std::string answer = text_of({compiler.program, std::string("-print-prog-name=") + part});
            programs.push_back(path_of_program(answer.substr(0, answer.find('\n'))));
        }
    }
    std::set<std::string> files(programs.begin(), programs.end());
    for (const std::string& program : programs) {
        // libLLVM.so.19.1 => /usr/lib/llvm-19/bin/../lib/libLLVM.so.19.1 (0x00007fcc12400000)
        static const std::regex library("=> (/[^ ]+) ");
        // Of a program without libraries ldd says so, and fails.
        const std::string list =
            read_program({.arguments = {"ldd", program}, .directory = {}, .environment = {}}).text;
        for (std::sregex_iterator match(list.begin(), list.end(), library), end; match != end; ++match) {
            files.insert((*match)[1]);
        }
    }
    return {files.begin(), files.end()};
}

} // namespace previrt
