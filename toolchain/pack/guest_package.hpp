// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace previrt {

struct GuestPackageOptions {
    std::string kernel; // a bzImage or an ELF executable
    std::string initrd; // empty: none
    std::string append;
    std::uint64_t memory = 0;
    bool print_counters = false;
    std::optional<std::uint64_t> kernel_address = std::nullopt; // for slide_guest_kernel
};

// The file that is handed to an in-place VMM, the same for every hypervisor.
struct GuestPackage {
    std::vector<std::uint8_t> bytes;
    std::string kernel_sha256; // of the file as it was given
};

// Throws InputError for what cannot be a guest, or does not fit into its memory.
GuestPackage make_guest_package(const GuestPackageOptions& options);

} // namespace previrt
