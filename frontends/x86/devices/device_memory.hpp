// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace previrt {

// Guest-physical addresses that are no RAM. What no device claims, or not so, stops the guest.
void read_device(std::uint64_t physical, void* to, std::size_t bytes);
void write_device(std::uint64_t physical, const void* from, std::size_t bytes);

} // namespace previrt
