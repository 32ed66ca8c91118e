// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// Writes the hypervisor, as QEMU loads it, to `path`: the machine's own, else Debian's package in the cache.
// Throws InputError.
void write_xen_hypervisor(const std::string& path);

// Where that would take it from. Throws InputError where it could not.
std::string locate_xen_hypervisor();

} // namespace previrt
