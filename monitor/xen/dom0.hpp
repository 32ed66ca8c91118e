// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace previrt {

// A first domain whose only work is to start another: Debian's kernel and a small userland with Xen's tools.
struct Dom0 {
    std::string kernel;   // an ELF file
    std::string netfront; // the module with which the same kernel has a network in another domain
    std::string packages; // a directory with the contents of those that it needs
};
// Downloaded on first use and kept in the cache. Throws InputError.
Dom0 prepare_dom0();
// Where that would take it from. Throws InputError where it could not.
std::string locate_dom0();

std::string dom0_command_line();

struct Dom0File {
    std::string name;
    std::vector<std::uint8_t> contents;
    bool executable = false;
};
enum class Dom0Network : std::uint8_t { none, bridge };
// `guest` are the files that xl is to find in /guest, and dom0-init its script `before`, which it runs before
// the guest begins. Throws InputError.
std::vector<std::uint8_t> make_dom0_initrd(const Dom0& dom0, const std::vector<Dom0File>& guest,
                                           Dom0Network network);

// How much it needs to hold its own and an initrd of this size.
std::uint64_t dom0_memory(std::uint64_t initrd_bytes);

} // namespace previrt
