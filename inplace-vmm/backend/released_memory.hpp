// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::backend {

// Whether the host can have a part of the guest's memory back. If not, the guest has no device that gives it.
bool can_release_memory();
// These frames of RAM read as zeros from now on, and take none of the host's memory until something is
// written to them. The front-end has prepared them as for a write.
void release_memory(std::uint64_t first_frame, std::uint64_t count);

} // namespace previrt::backend
