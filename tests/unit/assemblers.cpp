// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/assemblers.hpp"

#include <gtest/gtest.h>

namespace previrt {

namespace {

// previrt-as always records; what it would emit without is what clang emits.
std::string command(Assembler assembler, const std::string& source, const std::string& object, bool plain) {
    const std::string definitions = PREVIRT_DEFINITIONS;
    switch (assembler) {
    case Assembler::gas:
        return "as " + (plain ? "" : definitions + "/previrt/sites-gas.s ") + source + " -o " + object;
    case Assembler::previrt_as:
        if (!plain) {
            return PREVIRT_AS " " + source + " -o " + object;
        }
        [[fallthrough]];
    case Assembler::clang:
        return "clang-19 -c -x assembler-with-cpp -I " + definitions +
               (plain ? "" : " -include previrt/sites-clang.h") + " " + source + " -o " + object;
    }
    return "false";
}

} // namespace

const char* name_of(Assembler assembler) {
    switch (assembler) {
    case Assembler::gas:
        return "gas";
    case Assembler::clang:
        return "clang";
    case Assembler::previrt_as:
        return "previrt-as";
    }
    return "?";
}

KernelFile assemble(const ScratchDirectory& directory, Assembler assembler, const std::string& source,
                    bool plain) {
    const std::string name = std::string(name_of(assembler)) + (plain ? "-plain" : "");
    const std::string file = directory.write(name + ".S", source);
    const CommandResult result = run_command(command(assembler, file, directory.path(name + ".o"), plain));
    EXPECT_EQ(result.status, 0) << name << ": " << result.output;
    EXPECT_EQ(result.output, "") << name;
    return load_kernel_file(directory.path(name + ".o"));
}

} // namespace previrt
