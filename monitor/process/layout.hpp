// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/contract/handover.hpp"

#include <cstdint>

namespace previrt {

// Where things are in the file that is all of a guest's memory, in whole pages: the image, what else is the
// VMM's, and the guest's RAM. The clock is not in it yet. Throws InputError for memory that no process has
// room for.
process::Handover lay_out_process(std::uint64_t guest_memory, std::uint64_t package_bytes,
                                  std::uint64_t filter_bytes, bool isolates = false);

std::uint64_t file_bytes(const process::Handover& handover);
// What one of its host processes may map at most: each page of the guest's at some addresses. A VMM that has
// reached it forgets what it has mapped, and begins anew.
std::uint64_t most_address_space(const process::Handover& handover);

} // namespace previrt
