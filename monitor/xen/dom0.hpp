// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace previrt {

// A first domain that only starts another one: Debian's kernel and a small userland with Xen's tools.
struct Dom0 {
    std::string kernel;   // an ELF file
    std::string netfront; // the module for the network of the same kernel in another domain
    std::string packages; // a directory with the unpacked packages
};
// Downloads it on first use and keeps it in the cache. Throws InputError.
Dom0 prepare_dom0();
// Says where prepare_dom0 would take it from. Throws InputError if it could not.
std::string locate_dom0();

std::string dom0_command_line();

struct Dom0File {
    std::string name;
    std::vector<std::uint8_t> contents;
    bool executable = false;
};
// For the guest's devices.
struct Dom0Devices {
    bool has_bridge;
    bool has_disks;
};
// xl finds the files `guest` in /guest. dom0-init runs the script `before` before the guest begins. Throws
// InputError.
std::vector<std::uint8_t> make_dom0_initrd(const Dom0& dom0, const std::vector<Dom0File>& guest,
                                           const Dom0Devices& devices);

// The memory for its own use and an initrd of this size.
std::uint64_t dom0_memory(std::uint64_t initrd_bytes);

} // namespace previrt
