// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/rights.hpp"
#include "monitor/guest/isolation.hpp"

#include <string>

namespace previrt {

constexpr const char* qemu_program = "qemu-system-x86_64";
// Against a guest that takes QEMU over: it can start no other program and change neither user nor priority.
constexpr const char* qemu_sandbox =
    "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";

// QEMU's rights: not root's, unless Linux refuses to change the user. Tried once.
struct QemuRights {
    Rights rights = Rights::not_root;
    MissingLayers missing = {};
};
const QemuRights& qemu_rights();

// The isolation of this machine from a guest under QEMU's TCG.
std::string isolation_by_qemu();

// QEMU's version text. Throws InputError if QEMU does not run.
std::string read_qemu_version();

// As a value among others in an option of QEMU's: there a comma ends a value, and two are one.
std::string double_commas(const std::string& text);

} // namespace previrt
