// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/options.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace previrt {

// A host for previrt: Debian's Linux with KVM, and a userland that runs nothing but this program.
struct NestedHost {
    std::string directory;

    // An ELF file.
    [[nodiscard]] std::string kernel() const { return directory + "/vmlinux"; }
};

// Downloaded on first use and kept in the cache. Throws InputError.
NestedHost prepare_nested_host();

// Where it is, or will be taken from. Throws InputError.
std::string locate_nested_host();

std::string nested_host_command_line(bool verbose);

// Runs this program as `previrt run --on kvm` with these options; each file that it needs is under the name
// that it has here. `person`: the guest's keys are typed. Throws InputError.
std::vector<std::uint8_t> make_nested_initramfs(const NestedHost& host, const RunOptions& options,
                                                bool person);

// How much it needs to hold an initramfs of this size and a guest.
std::uint64_t nested_host_memory(std::uint64_t initramfs_bytes, std::uint64_t guest);

} // namespace previrt
