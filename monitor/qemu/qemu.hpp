// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/rights.hpp"
#include "monitor/guest/isolation.hpp"

#include <string>

namespace previrt {

constexpr const char* qemu_program = "qemu-system-x86_64";
// Against a guest that takes QEMU over: no other program, no other user, no other priority.
constexpr const char* qemu_sandbox =
    "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";

// Those of QEMU's: not root's, unless Linux refuses to change the user. Tried once.
struct QemuRights {
    Rights rights = Rights::not_root;
    MissingLayers missing = {};
};
const QemuRights& qemu_rights();

// What keeps this machine from a guest in a QEMU that interprets.
std::string isolation_by_qemu();

// What it says of itself. Throws InputError where it does not run.
std::string read_qemu_version();

} // namespace previrt
