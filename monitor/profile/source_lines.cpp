// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/profile/source_lines.hpp"

#include "host/input_error.hpp"
#include "host/program.hpp"
#include "toolchain/image/places.hpp"

#include <algorithm>
#include <sstream>

namespace previrt {

namespace {

constexpr std::size_t most_at_once = 1000; // a command line has 128 KiB at least

// A path of the compiler's, "/build/x/../y.c:12 (discriminator 3)".
std::string shortened(std::string line) {
    line = line.substr(0, line.find(" (discriminator"));
    std::ranges::replace_if(
        line, [](char letter) { return letter < ' ' || letter > '~' || letter == ';'; }, '?');
    return line;
}

} // namespace

std::map<std::uint64_t, std::string> find_source_lines(const std::string& vmlinux,
                                                       const std::vector<std::uint64_t>& addresses) {
    if (path_of_program("addr2line").empty()) {
        throw InputError("no source lines: there is no addr2line (Debian's package binutils)");
    }
    std::map<std::uint64_t, std::string> lines;
    for (std::size_t first = 0; first < addresses.size(); first += most_at_once) {
        Program program{.arguments = {"addr2line", "-e", vmlinux}, .directory = {}, .environment = {}};
        const std::size_t end = std::min(addresses.size(), first + most_at_once);
        for (std::size_t i = first; i < end; ++i) {
            program.arguments.push_back(hex(addresses[i]));
        }
        const ProgramOutput output = read_program(program);
        if (output.status != 0) {
            throw InputError("no source lines: addr2line -e " + vmlinux + " ended with status " +
                             std::to_string(output.status));
        }
        std::istringstream text(output.text);
        std::string line;
        for (std::size_t i = first; i < end && std::getline(text, line); ++i) {
            if (!line.starts_with("??") && !line.ends_with(":?") && !line.ends_with(":0")) {
                lines[addresses[i]] = shortened(line);
            }
        }
    }
    return lines;
}

} // namespace previrt
