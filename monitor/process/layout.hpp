// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/contract/handover.hpp"

#include <cstdint>

namespace previrt {

// The layout of the file that is all of a guest's memory, in whole pages: the image, the VMM's other parts,
// and the guest's RAM. The clock is not set yet. Throws InputError if no process has room for that much.
process::Handover lay_out_process(std::uint64_t guest_memory, std::uint64_t package_bytes,
                                  std::uint64_t filter_bytes, bool isolates = false, unsigned processors = 1);

std::uint64_t file_bytes(const process::Handover& handover);
// The bound of a host process's mappings: each page of the guest at several addresses. A VMM that reaches the
// bound unmaps everything, and starts again.
std::uint64_t most_address_space(const process::Handover& handover);

} // namespace previrt
