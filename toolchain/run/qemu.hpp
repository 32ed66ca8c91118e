// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

constexpr const char* qemu_program = "qemu-system-x86_64";

// What keeps this machine from a guest in a QEMU that interprets.
constexpr const char* isolation_by_qemu =
    "QEMU alone keeps the host from the machine, with a seccomp filter and the rights of whoever starts it; "
    "its "
    "developers promise no security where it interprets (TCG): for guests that are trusted";

// What it says of itself. Throws InputError where it does not run.
std::string read_qemu_version();

} // namespace previrt
