// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/qemu/qemu.hpp"

#include "host/input_error.hpp"
#include "host/program.hpp"

#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

QemuRights find_rights() {
    const int error = try_with_rights(Rights::not_root, [] { return true; });
    if (error == 0) {
        return {};
    }
    return {.rights = Rights::of_user,
            .missing = {.names = {"a user other than root for QEMU"},
                        .reason = std::generic_category().message(error),
                        .remedy = "start previrt as another user than root, or where root has the "
                                  "capabilities SETUID and SETGID, and its namespace other users"}};
}

} // namespace

const QemuRights& qemu_rights() {
    static const QemuRights rights = find_rights();
    return rights;
}

std::string isolation_by_qemu() {
    std::string user = "its user's rights";
    if (geteuid() == 0) {
        user = qemu_rights().rights == Rights::not_root ? "a user of its own" : "root as its user";
    }
    return "QEMU alone keeps the host from the machine, with a seccomp filter, no capabilities and " + user +
           "; its developers promise no security of its interpreter (TCG): for trusted guests only";
}

std::string read_qemu_version() {
    const ProgramOutput output = read_program({.arguments = {qemu_program, "--version"},
                                               .directory = {},
                                               .environment = {},
                                               .rights = qemu_rights().rights});
    if (output.status != 0) {
        throw InputError(std::string(qemu_program) + " --version ended with status " +
                         std::to_string(output.status));
    }
    return output.text.substr(0, output.text.find('\n'));
}

std::string double_commas(const std::string& text) {
    std::string doubled;
    for (const char character : text) {
        doubled += character == ',' ? std::string(",,") : std::string(1, character);
    }
    return doubled;
}

} // namespace previrt
