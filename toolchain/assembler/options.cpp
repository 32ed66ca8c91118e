// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/assembler/options.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace previrt {

namespace {

constexpr std::array ignored{
    "--64", "-Qy", "-Qn", "-k", "-s", "-q", "-L", "--keep-locals", "--no-pad-sections", "--execstack"};
constexpr std::array ignored_with_value{"-mx86-used-note=",
                                        "-mtune=",
                                        "-march=",
                                        "--compress-debug-sections",
                                        "--hash-size=",
                                        "-mbranches-within-32B-boundaries",
                                        "-fdebug-prefix-map=",
                                        "--debug-prefix-map",
                                        "-msse2avx",
                                        "--size-check=",
                                        "-almns"};

class Arguments {
public:
    explicit Arguments(const std::vector<std::string>& arguments) : arguments_(arguments) {}

    [[nodiscard]] bool empty() const { return next_ == arguments_.size(); }
    const std::string& take() { return arguments_[next_++]; }

    // The value of an option given as "-xVALUE" or "-x VALUE".
    std::string value(const std::string& argument, std::string_view option) {
        if (argument.size() > option.size()) {
            return argument.substr(option.size());
        }
        if (empty()) {
            throw InputError(argument + " wants a value");
        }
        return take();
    }

private:
    const std::vector<std::string>& arguments_;
    std::size_t next_ = 0;
};

std::pair<std::string, long> parse_symbol(const std::string& definition) {
    const std::size_t equals = definition.find('=');
    if (equals == std::string::npos || equals == 0) {
        throw InputError("--defsym wants SYMBOL=VALUE, not '" + definition + "'");
    }
    char* end = nullptr;
    errno = 0;
    const long value = std::strtol(definition.c_str() + equals + 1, &end, 0);
    if (errno != 0 || *end != '\0' || equals + 1 == definition.size()) {
        throw InputError("--defsym: '" + definition.substr(equals + 1) + "' is no number");
    }
    return {definition.substr(0, equals), value};
}

bool is_ignored(const std::string& argument) {
    return std::ranges::find(ignored, argument) != ignored.end() ||
           std::ranges::any_of(ignored_with_value,
                               [&](const char* prefix) { return argument.starts_with(prefix); });
}

} // namespace

AssemblerOptions parse_assembler_options(const std::vector<std::string>& arguments) {
    AssemblerOptions options;
    Arguments rest(arguments);
    while (!rest.empty()) {
        const std::string& argument = rest.take();
        if (argument == "-" || !argument.starts_with('-')) {
            options.inputs.push_back(argument);
        } else if (argument.starts_with("-o")) {
            options.output = rest.value(argument, "-o");
        } else if (argument.starts_with("-I")) {
            options.include_directories.push_back(rest.value(argument, "-I"));
        } else if (argument == "--defsym") {
            options.symbols.push_back(parse_symbol(rest.value(argument, "--defsym")));
        } else if (argument == "--noexecstack") {
            options.executable_stack_note = true;
        } else if (argument == "--fatal-warnings") {
            options.fatal_warnings = true;
        } else if (argument == "-W" || argument == "--no-warn") {
            options.no_warnings = true;
        } else if (argument == "-mrelax-relocations=no") {
            options.relax_relocations = false;
        } else if (argument == "-mrelax-relocations=yes") {
            options.relax_relocations = true;
        } else if (argument.starts_with("-g") || argument.starts_with("--g")) {
            options.debug_lines = true;
        } else if (argument == "--version" || argument == "-V" || argument == "-v") {
            options.version = true;
        } else if (argument == "--help") {
            options.help = true;
        } else if (argument == "--32" || argument == "--x32") {
            throw InputError("only 64-bit objects (--64); use `as` for " + argument.substr(2) + "-bit ones");
        } else if (!is_ignored(argument)) {
            throw InputError("unknown option " + argument);
        }
    }
    return options;
}

} // namespace previrt
