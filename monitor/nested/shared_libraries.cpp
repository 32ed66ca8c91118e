// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/nested/shared_libraries.hpp"

#include "host/input_error.hpp"
#include "host/program.hpp"

#include <sstream>

namespace previrt {

std::vector<std::string> shared_libraries_of(const std::string& program) {
    // The loader then prints a line for each, as ldd does: `NAME => FILE (ADDRESS)` or `FILE (ADDRESS)`.
    const ProgramOutput loader = read_program(
        {.arguments = {program}, .directory = {}, .environment = {{"LD_TRACE_LOADED_OBJECTS", "1"}}});
    if (loader.status != 0) {
        throw InputError(program + ": the loader does not name its libraries");
    }
    std::vector<std::string> names;
    std::istringstream words(loader.text);
    for (std::string word; words >> word;) {
        if (word.starts_with('/')) {
            names.push_back(word);
        }
    }
    return names;
}

} // namespace previrt
