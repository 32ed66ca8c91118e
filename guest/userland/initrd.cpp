// SPDX-License-Identifier: BSD-2-Clause
#include "guest/userland/initrd.hpp"

#include "host/input_error.hpp"
#include "host/program.hpp"
#include "host/tree.hpp"

namespace previrt {

std::string make_initrd(const std::string& name,
                        const std::vector<std::pair<std::string, std::string>>& files) {
    const std::string directory = in_source_tree("build/initrd");
    make_directories(directory);
    std::string output = directory + "/" + name;
    Program program{.arguments = {in_source_tree("guest/userland/make-initrd"), output},
                    .directory = {},
                    .environment = {}};
    for (const auto& [place, file] : files) {
        program.arguments.push_back(place + "=" + file);
    }
    if (run_program(program) != 0) {
        throw InputError("cannot make " + output);
    }
    return output;
}

} // namespace previrt
