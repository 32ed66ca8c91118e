// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/qemu.hpp"

#include "toolchain/host/program.hpp"
#include "toolchain/image/input_error.hpp"

namespace previrt {

std::string read_qemu_version() {
    const ProgramOutput output =
        read_program({.arguments = {qemu_program, "--version"}, .directory = {}, .environment = {}});
    if (output.status != 0) {
        throw InputError(std::string(qemu_program) + " --version ended with status " +
                         std::to_string(output.status));
    }
    return output.text.substr(0, output.text.find('\n'));
}

} // namespace previrt
