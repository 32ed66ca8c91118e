// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// Guest-physical memory, nullptr unless all of it is RAM.
std::uint8_t* physical_memory(std::uint64_t address, std::uint64_t bytes);

} // namespace previrt
