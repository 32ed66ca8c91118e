// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt {

// An image has the definitions of disks.cpp or, if its back-end has no disks, those of without_disks.cpp.

// Puts a controller into the PC for each of the guest's disks.
void insert_disks();
// Hands the driver's commands to the host, and the host's completions to the driver, with at most one
// doorbell to the host. The doorbell may wait.
void serve_disks();
// When serve_disks() has to be called, because the doorbell waits.
std::optional<std::uint64_t> disks_due();

} // namespace previrt
