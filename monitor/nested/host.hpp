// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/options.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace previrt {

// A host for previrt: Debian's Linux with KVM, and a userland that runs only this program.
struct NestedHost {
    std::string directory;

    // An ELF file.
    [[nodiscard]] std::string kernel() const { return directory + "/vmlinux"; }
};

// Downloads it on first use and keeps it in the cache. Throws InputError.
NestedHost prepare_nested_host();

// Says where it is, or would be downloaded from. Throws InputError.
std::string locate_nested_host();

std::string nested_host_command_line(const RunOptions& options);

// Its init runs this program as `previrt run --on kvm` with these options. Every file has the same name
// inside as here. `person`: a person types the guest's keys. Throws InputError.
std::vector<std::uint8_t> make_nested_initramfs(const NestedHost& host, const RunOptions& options,
                                                bool person);

// The memory for an initramfs of this size and a guest.
std::uint64_t nested_host_memory(std::uint64_t initramfs_bytes, std::uint64_t guest);

} // namespace previrt
