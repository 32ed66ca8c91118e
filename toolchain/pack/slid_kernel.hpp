// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/image/kernel_file.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace previrt {

// The ELF file of a Linux, changed as if its lowest segment had been linked at `address`: in the last 2 GiB
// of the address space, where kernels are linked, or in the first, for a guest that cannot have the last.
// Physical addresses stay. `relocation_table` is the part of a bzImage behind the ELF file. Throws
// InputError: the message begins with the path.
std::vector<std::uint8_t> slide_kernel(const KernelFile& kernel,
                                       std::span<const std::uint8_t> relocation_table, std::uint64_t address);

} // namespace previrt
