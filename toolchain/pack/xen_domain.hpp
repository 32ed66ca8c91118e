// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace previrt {

// The memory of a domain whose guest finds `guest_memory` of RAM: the VMM's tables grow with the guest and
// its processors, and the package stays where Xen puts it. Whole MiB.
std::uint64_t domain_memory(std::uint64_t guest_memory, std::uint64_t package_bytes, unsigned processors = 1);

struct XenDomain {
    std::string name;
    std::string kernel;       // the image that Xen starts: the VMM, or a kernel that was ported to Xen
    std::string module;       // the VMM's package, or an initrd
    std::string command_line; // empty: none; a package has the guest's
    std::uint64_t memory;
    unsigned processors = 1;
    std::string at_end;             // Xen's action when it shuts down by itself; empty: the usual one
    std::string vif;                // its network card (xl-network-configuration(5)); empty: none
    std::vector<std::string> disks; // xl-disk-configuration(5)
};

// For xl create (xl.cfg(5)).
std::string xl_configuration(const XenDomain& domain);

} // namespace previrt
