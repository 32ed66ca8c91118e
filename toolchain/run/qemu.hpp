// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

constexpr const char* qemu_program = "qemu-system-x86_64";

// What it says of itself. Throws InputError where it does not run.
std::string read_qemu_version();

} // namespace previrt
