// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/pack/guest_kernel.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace previrt {

struct GuestPackageOptions {
    std::string initrd; // empty: none
    std::string append;
    std::uint64_t memory = 0; // the size for which the kernel was loaded
    bool print_counters = false;
    bool count_cycles = false; // of the VMM, beside its counts of instructions
    bool strict = false;       // an access that no device answers ends the guest
    // An archive in front of the initrd; may be left out.
    std::vector<std::uint8_t> before_initrd = {}; // NOLINT(readability-redundant-member-init)
};

// The file for an in-place VMM, the same for every hypervisor. Throws InputError if it does not fit into the
// guest's memory.
std::vector<std::uint8_t> make_guest_package(const GuestKernel& kernel, const GuestPackageOptions& options);

} // namespace previrt
