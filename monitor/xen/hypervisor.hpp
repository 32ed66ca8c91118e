// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// Writes the hypervisor to `path`, in the form that QEMU loads: this machine's own, else Debian's package
// from the cache. Throws InputError.
void write_xen_hypervisor(const std::string& path);

// Says where write_xen_hypervisor would take it from. Throws InputError if it could not.
std::string locate_xen_hypervisor();

} // namespace previrt
